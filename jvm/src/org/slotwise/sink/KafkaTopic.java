package org.slotwise.sink;

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.Row;

/**
 * A topic, which gets every tuple at least once: when a task ends, all of its messages are written. The
 * headers {@code id} and {@code ts} are the tuple's, so that a repeated one is recognised.
 */
final class KafkaTopic implements Output {
  private final String topic;
  private final Map<String, String> options;
  private final AtomicReference<Exception> failed = new AtomicReference<>();
  private KafkaProducer producer;
  private Object callback;

  KafkaTopic(String topic, Map<String, String> options) {
    this.topic = topic;
    this.options = options;
  }

  @Override
  public void open(long partition, long epoch) {
    failed.set(null);
    producer = KafkaProducer.of(options);
    callback =
        producer.callback(
            reason -> {
              if (reason != null) {
                failed.compareAndSet(null, reason);
              }
            });
  }

  @Override
  public void write(long id, long ts, byte[] key, byte[] value, Row row) {
    producer.send(topic, key, value, id, ts, callback);
    check();
  }

  @Override
  public void close(Throwable failure) {
    boolean hasFailed = true;
    try {
      if (failure == null) {
        producer.flush();
        check();
        hasFailed = false;
      }
    } finally {
      producer.release(hasFailed);
    }
  }

  private void check() {
    Exception reason = failed.get();
    if (reason != null) {
      // Without its cause: what is told of a failure is what the last cause says.
      throw new IllegalStateException(
          "cannot write to topic '" + topic + "': " + reason.getMessage());
    }
  }
}
