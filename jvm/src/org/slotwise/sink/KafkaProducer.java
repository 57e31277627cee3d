package org.slotwise.sink;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * A producer of Kafka's client library, which comes with Spark's connector and is not there when this
 * is compiled.
 *
 * <p>One for each set of options in an executor: it serves several tasks, and batches after each
 * other. After a failure the next task gets a new one, and the last task of the old one closes it.
 */
final class KafkaProducer {
  private static final String PACKAGE = "org.apache.kafka.clients.producer.";
  private static final String BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer";
  private static final Map<Map<String, String>, KafkaProducer> PRODUCERS = new HashMap<>();

  private final Map<String, String> options;
  private final Object producer;
  private final Method send;
  private final Method flush;
  private final Method close;
  private final Class<?> callback;
  private final Constructor<?> message;
  private final Constructor<?> header;

  /** Tasks that have it; changed as PRODUCERS are. */
  private int tasks = 0;

  private KafkaProducer(Map<String, String> options) {
    this.options = options;
    try {
      Class<?> type = load(PACKAGE + "KafkaProducer");
      Class<?> messageType = load(PACKAGE + "ProducerRecord");
      callback = load(PACKAGE + "Callback");
      message =
          messageType.getConstructor(
              String.class, Integer.class, Long.class, Object.class, Object.class, Iterable.class);
      header =
          load("org.apache.kafka.common.header.internals.RecordHeader")
              .getConstructor(String.class, byte[].class);
      send = type.getMethod("send", messageType, callback);
      flush = type.getMethod("flush");
      close = type.getMethod("close", Duration.class);
      Map<String, Object> settings = new HashMap<>(options);
      settings.put("key.serializer", BYTES);
      settings.put("value.serializer", BYTES);
      producer = type.getConstructor(Map.class).newInstance(settings);
    } catch (ReflectiveOperationException failed) {
      throw thrown(failed);
    }
  }

  /** The one with these options, without the prefix {@code kafka.}; to be {@link #release}d. */
  static KafkaProducer of(Map<String, String> options) {
    synchronized (PRODUCERS) {
      KafkaProducer found = PRODUCERS.computeIfAbsent(options, KafkaProducer::new);
      found.tasks++;
      return found;
    }
  }

  /** What tells the end of a message: with null if it was written, else with the reason. */
  Object callback(Consumer<Exception> ended) {
    ClassLoader loader = callback.getClassLoader();
    return Proxy.newProxyInstance(
        loader,
        new Class<?>[] {callback},
        (proxy, method, given) -> {
          if (method.getName().equals("onCompletion")) {
            ended.accept((Exception) given[1]);
          }
          return null;
        });
  }

  void send(String topic, byte[] key, byte[] value, long id, long ts, Object callback) {
    try {
      List<Object> headers = List.of(header("id", id), header("ts", ts));
      send.invoke(
          producer, message.newInstance(topic, null, null, key, value, headers), callback);
    } catch (ReflectiveOperationException failed) {
      throw thrown(failed);
    }
  }

  private Object header(String name, long number) throws ReflectiveOperationException {
    return header.newInstance(name, Long.toString(number).getBytes(StandardCharsets.US_ASCII));
  }

  /** Returns when every message sent until now was written, or was given up. */
  void flush() {
    try {
      flush.invoke(producer);
    } catch (ReflectiveOperationException failed) {
      throw thrown(failed);
    }
  }

  /** A task is done with it. Closed under the others, it would make them fail, too. */
  void release(boolean hasFailed) {
    boolean isLast;
    synchronized (PRODUCERS) {
      if (hasFailed) {
        PRODUCERS.remove(options, this);
      }
      tasks--;
      isLast = tasks == 0 && PRODUCERS.get(options) != this;
    }
    if (isLast) {
      try {
        close.invoke(producer, Duration.ZERO);
      } catch (ReflectiveOperationException failed) {
        throw thrown(failed);
      }
    }
  }

  private static Class<?> load(String name) throws ClassNotFoundException {
    return Class.forName(name, true, Thread.currentThread().getContextClassLoader());
  }

  private static RuntimeException thrown(ReflectiveOperationException failed) {
    Throwable cause = failed instanceof InvocationTargetException ? failed.getCause() : failed;
    return cause instanceof RuntimeException known ? known : new IllegalStateException(cause);
  }
}
