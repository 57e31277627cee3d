package org.slotwise.work;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a thread of an operator remembers from one record to the next, by key: the fields of a bolt.
 *
 * <p>A state has a name and belongs to one partition of a query, so that it outlives the task of a
 * batch. It is in the executor's memory and in no checkpoint: a thread that moves begins anew.
 * Spark calls these from generated code.
 */
public final class ThreadState {
  private static final Map<Owner, Object> STATES = new ConcurrentHashMap<>();

  private ThreadState() {}

  private record Owner(String function, String query, int partition, String name) {}

  /** How often the key came, this time included. */
  public static long count(UTF8String name, UTF8String key) {
    return ThreadState.<Map<UTF8String, Long>>of("count", name, HashMap::new)
        .merge(key.clone(), 1L, Long::sum);
  }

  /** The mean of the key's last n values, this one included. */
  public static double mean(UTF8String name, UTF8String key, double value, long n) {
    Deque<Double> last =
        ThreadState.<Map<UTF8String, Deque<Double>>>of("mean", name, HashMap::new)
            .computeIfAbsent(key.clone(), unknown -> new ArrayDeque<>());
    last.addLast(value);
    while (last.size() > Math.max(n, 1)) {
      last.removeFirst();
    }
    double sum = 0;
    for (double each : last) {
      sum += each;
    }
    return sum / last.size();
  }

  /** The value that came with the key before this one; null the first time. */
  public static UTF8String previous(UTF8String name, UTF8String key, UTF8String value) {
    return ThreadState.<Map<UTF8String, UTF8String>>of("previous", name, HashMap::new)
        .put(key.clone(), value.clone());
  }

  /** The n keys whose last values are highest, in this order, with a comma between two. */
  public static UTF8String top(UTF8String name, UTF8String key, double value, long n) {
    Ranking ranking = of("top", name, Ranking::new);
    ranking.put(key.toString(), value);
    return UTF8String.fromString(ranking.first(n));
  }

  @SuppressWarnings("unchecked") // a name is used by one function with one type
  private static <T> T of(String function, UTF8String name, Supplier<T> empty) {
    TaskContext task = TaskContext.get();
    String query = String.valueOf(task.getLocalProperty("sql.streaming.queryId"));
    Owner owner = new Owner(function, query, task.partitionId(), name.toString());
    return (T) STATES.computeIfAbsent(owner, unknown -> empty.get());
  }

  private record Ranked(String key, double value) {}

  private static final class Ranking {
    private final Map<String, Ranked> byKey = new HashMap<>();
    private final TreeSet<Ranked> byValue =
        new TreeSet<>(
            Comparator.comparingDouble(Ranked::value).reversed().thenComparing(Ranked::key));

    void put(String key, double value) {
      Ranked now = new Ranked(key, value);
      Ranked before = byKey.put(key, now);
      if (before != null) {
        byValue.remove(before);
      }
      byValue.add(now);
    }

    String first(long n) {
      return byValue.stream().limit(n).map(Ranked::key).collect(Collectors.joining(","));
    }
  }
}
