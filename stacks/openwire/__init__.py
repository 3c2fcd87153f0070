"""OpenWire, the client's side: what ActiveMQ's own JMS client speaks, in its loose encoding.

Source: https://activemq.apache.org/openwire-version-2-specification, and the marshallers of ActiveMQ 5.17.
"""
