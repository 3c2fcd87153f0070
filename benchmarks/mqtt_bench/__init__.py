"""MQTT clients beside each other: ours, paho-mqtt, aiomqtt, against one Mosquitto over one link."""
