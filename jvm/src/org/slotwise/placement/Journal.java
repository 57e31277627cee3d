package org.slotwise.placement;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * What happened to the threads of streaming queries: their last stages, where the tasks of the last
 * batch were launched, and what did not go to its slot.
 *
 * <p>Bounded: {@value #KEPT_STAGES} stages in all, one batch and {@value #KEPT} fall-backs per query.
 * A query that ends keeps its entry, as queries that restart keep their id.
 */
final class Journal {
  static final int KEPT = 1000;

  /** Reports of tasks come up to a second late; micro-batches may be much shorter. */
  static final int KEPT_STAGES = 10_000;

  /** A launched task; {@code slot} and {@code planned} are -1 where there is none. */
  record Launch(
      long batch, int level, int partition, int slot, int planned, String executor, String host) {}

  /** A task that did not go to its slot, or a placement that does not fit its query. */
  record Miss(long batch, int level, int partition, int slot, String executor, String reason) {}

  /** One query's pages. */
  record Pages(Collection<Launch> tasks, Collection<Miss> fallBacks) {}

  private static final class Query {
    String name = "";
    long batch = Long.MIN_VALUE;
    int levelsToCome;
    int tasksToCome;
    Map<Long, Launch> launching = new TreeMap<>();
    Map<Long, Launch> launches = new TreeMap<>();
    final Deque<Miss> misses = new ArrayDeque<>();
    final Map<Long, Miss> lastMisses = new HashMap<>();
  }

  private record Entry(QueryStage stage, int[] planned) {}

  private final Map<Integer, Entry> stages =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Entry> eldest) {
          return size() > KEPT_STAGES;
        }
      };
  private final Map<String, Query> queries = new HashMap<>();
  private int lastStage = -1;

  /**
   * A stage of {@code tasks} tasks is about to run. {@code planned} is the slot of each of its
   * partitions, null if Spark places them.
   */
  synchronized void begin(int stageId, QueryStage stage, int tasks, int[] planned) {
    Query query = query(stage);
    if (stage.batch() != query.batch || stage.level() == 0) {
      query.batch = stage.batch();
      query.launching = new TreeMap<>();
      query.levelsToCome = stage.levels();
      query.tasksToCome = 0;
    }
    query.levelsToCome--;
    query.tasksToCome += tasks;
    stages.put(stageId, new Entry(stage, planned));
    lastStage = Math.max(lastStage, stageId);
  }

  /** The highest id of all stages until now, -1 if there were none; later ones have higher ids. */
  synchronized int lastStage() {
    return lastStage;
  }

  private Query query(QueryStage stage) {
    Query query = queries.computeIfAbsent(stage.query(), id -> new Query());
    query.name = stage.name();
    return query;
  }

  /** One of the last stages; null if there is none with this id. */
  synchronized QueryStage stage(int stageId) {
    Entry entry = stages.get(stageId);
    return entry == null ? null : entry.stage;
  }

  synchronized void launched(int stageId, int partition, int slot, String executor, String host) {
    Entry entry = stages.get(stageId);
    Query query = queries.get(entry.stage.query());
    if (query.batch == entry.stage.batch()) {
      int level = entry.stage.level();
      int planned = entry.planned == null ? -1 : entry.planned[partition];
      Launch launch = new Launch(query.batch, level, partition, slot, planned, executor, host);
      if (query.launching.put(key(level, partition), launch) == null) {
        query.tasksToCome--;
      }
      if (query.levelsToCome == 0 && query.tasksToCome == 0) {
        query.launches = query.launching;
      }
    }
  }

  /** Writes a miss down; whether it is news, and not the same as in the batch before. */
  synchronized boolean missed(QueryStage stage, Miss miss) {
    Query query = query(stage);
    query.misses.addLast(miss);
    if (query.misses.size() > KEPT) {
      query.misses.removeFirst();
    }
    Miss last = query.lastMisses.put(key(miss.level(), miss.partition()), miss);
    return last == null
        || last.batch() < miss.batch() - 1
        || !Objects.equals(last.executor(), miss.executor())
        || !last.reason().equals(miss.reason());
  }

  private static long key(int level, int partition) {
    return ((long) level << 32) | (partition & 0xffffffffL);
  }

  /** Of the last batch whose tasks were all launched, by the query's id or name; empty if none. */
  synchronized Pages of(String query) {
    for (Map.Entry<String, Query> entry : queries.entrySet()) {
      if (query.equals(entry.getKey()) || query.equals(entry.getValue().name)) {
        Query found = entry.getValue();
        return new Pages(new ArrayList<>(found.launches.values()), new ArrayList<>(found.misses));
      }
    }
    return new Pages(List.of(), List.of());
  }
}
