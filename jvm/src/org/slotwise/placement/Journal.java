package org.slotwise.placement;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What happened to the threads of streaming queries: the stages of their last two batches, where
 * the tasks of the last batch were launched, and what did not go to its slot.
 *
 * <p>Bounded: two batches and {@value #KEPT} fall-backs per query. A query that ends keeps its
 * entry, as queries that restart keep their id.
 */
final class Journal {
  static final int KEPT = 1000;

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
    final Map<Long, Launch> launches = new TreeMap<>();
    final Deque<Miss> misses = new ArrayDeque<>();
  }

  private record Entry(QueryStage stage, int[] planned) {}

  private final Map<Integer, Entry> stages = new HashMap<>();
  private final Map<String, Query> queries = new HashMap<>();

  /**
   * A stage is about to run. The first one of a batch closes the batch before it. {@code planned}
   * is the slot of each of its partitions, null if Spark places them.
   */
  synchronized void begin(int stageId, QueryStage stage, int[] planned) {
    Query query = query(stage);
    if (stage.batch() != query.batch || stage.level() == 0) {
      query.batch = stage.batch();
      query.launches.clear();
      stages
          .values()
          .removeIf(old -> isOld(old.stage, stage));
    }
    stages.put(stageId, new Entry(stage, planned));
  }

  private static boolean isOld(QueryStage old, QueryStage now) {
    return old.query().equals(now.query()) && old.batch() < now.batch() - 1;
  }

  private Query query(QueryStage stage) {
    Query query = queries.computeIfAbsent(stage.query(), id -> new Query());
    query.name = stage.name();
    return query;
  }

  /** A stage of the last two batches; null if there is none with this id. */
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
      query.launches.put(
          ((long) level << 32) | partition,
          new Launch(query.batch, level, partition, slot, planned, executor, host));
    }
  }

  synchronized void missed(QueryStage stage, Miss miss) {
    Deque<Miss> misses = query(stage).misses;
    misses.addLast(miss);
    if (misses.size() > KEPT) {
      misses.removeFirst();
    }
  }

  /** By the query's id or name; empty if it has not run. */
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
