"""MQTT 3.1.1 and 5 (OASIS standards of 2014 and 2019): packets, their bytes, and a client's connection."""
