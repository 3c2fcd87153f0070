import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import javax.jms.*;
import org.apache.activemq.ActiveMQConnectionFactory;

/** Java's own JMS client, to hold ours against: `receive URL TOPIC COUNT` or `send URL TOPIC HEX`. */
public class JmsPeer {
    public static void main(String[] args) throws Exception {
        ActiveMQConnectionFactory factory = new ActiveMQConnectionFactory(args[1]);
        factory.setTrustAllPackages(true);
        Connection connection = factory.createConnection();
        connection.start();
        Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
        Topic topic = session.createTopic(args[2]);
        if (args[0].equals("send")) {
            send(session, session.createProducer(topic), HexFormat.of().parseHex(args[3]));
        } else {
            receive(session.createConsumer(topic), Integer.parseInt(args[3]));
        }
        connection.close();
        System.exit(0);
    }

    static void receive(MessageConsumer consumer, int count) throws Exception {
        System.out.println("ready");
        for (int i = 0; i < count; i++) {
            Message message = consumer.receive(20000);
            System.out.println(kind(message) + " " + message.getIntProperty("n") + " " + message.getJMSDeliveryMode()
                    + " " + HexFormat.of().formatHex(body(message)));
        }
    }

    static String kind(Message message) {
        return message instanceof BytesMessage ? "bytes" : message instanceof TextMessage ? "text"
                : message instanceof StreamMessage ? "stream" : message instanceof MapMessage ? "map" : "object";
    }

    static byte[] body(Message message) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        if (message instanceof BytesMessage bytes) {
            byte[] data = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(data);
            out.write(data);
        } else if (message instanceof TextMessage text) {
            out.write(text.getText().getBytes(StandardCharsets.ISO_8859_1));
        } else if (message instanceof StreamMessage stream) {
            try {
                while (true) add(out, stream.readObject());
            } catch (MessageEOFException end) {
            }
        } else if (message instanceof MapMessage map) {
            for (int i = 0; map.itemExists(Integer.toString(i)); i++) add(out, map.getObject(Integer.toString(i)));
            if (map.itemExists("rest")) add(out, map.getObject("rest"));
        } else if (message instanceof ObjectMessage object) {
            out.write((byte[]) object.getObject());
        }
        return out.toByteArray();
    }

    static void add(ByteArrayOutputStream out, Object field) throws Exception {
        out.write(field instanceof byte[] data ? data : ByteBuffer.allocate(8).putLong((Long) field).array());
    }

    static void send(Session session, MessageProducer producer, byte[] body) throws Exception {
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(body);
        StreamMessage stream = session.createStreamMessage();
        stream.writeBytes(body);
        MapMessage map = session.createMapMessage();
        map.setBytes("0", body);
        Message[] all = {bytes, session.createTextMessage(new String(body, StandardCharsets.ISO_8859_1)), stream, map,
            session.createObjectMessage(body)};
        for (Message message : all) {
            message.setIntProperty("n", 5);
            producer.send(message);
        }
    }
}
