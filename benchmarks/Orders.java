import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes orders to a topic: {@code SERVERS TOPIC PARTITIONS RECORDS RATE FIRST}. Record n is written
 * when it is due, n ÷ RATE seconds after the start, and has that time as its timestamp, so that a
 * late one counts as late. With RATE 0 they are written as fast as that goes.
 */
public final class Orders {
  public static void main(String[] given) {
    String topic = given[1];
    int partitions = Integer.parseInt(given[2]);
    long records = Long.parseLong(given[3]);
    double rate = Double.parseDouble(given[4]);
    Map<String, Object> settings =
        Map.of("bootstrap.servers", given[0], "linger.ms", rate > 0 ? "0" : "20");
    ByteArraySerializer bytes = new ByteArraySerializer();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
      long start = System.currentTimeMillis();
      for (long n = 0; n < records; n++) {
        long due = rate > 0 ? start + (long) (1000 * n / rate) : System.currentTimeMillis();
        long early = due - System.currentTimeMillis();
        if (early > 0) {
          LockSupport.parkNanos(1_000_000 * early);
        }
        String order =
            String.format(
                "{\"number\":%d,\"country\":\"c%d\",\"amount\":%d.5}", n, n % 20, n % 200);
        producer.send(
            new ProducerRecord<>(
                topic, (int) (n % partitions), due, null, order.getBytes(StandardCharsets.UTF_8)));
      }
    }
  }
}
