package org.slotwise.placement;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The slot of every thread of a query: {@code slots[level][partition]}. */
record Placement(int[][] slots) {

  /** A thread whose slot has no executor, and where it goes instead (null: nowhere has room). */
  record FallBack(int level, int partition, int slot, String executor) {}

  /** The executor of every thread, and the threads that are not where they should be. */
  record Resolved(String[][] executors, List<FallBack> fallBacks) {}

  /** Reads {@code "0,1;2,2;0"}: levels separated by semicolons, a slot per partition. */
  static Placement parse(String text) {
    String[] levels = text.split(";");
    int[][] slots = new int[levels.length][];
    for (int level = 0; level < levels.length; level++) {
      slots[level] =
          java.util.Arrays.stream(levels[level].split(",")).mapToInt(Integer::parseInt).toArray();
    }
    return new Placement(slots);
  }

  int[] level(int level) {
    return slots[level];
  }

  int levels() {
    return slots.length;
  }

  /**
   * Every thread's executor, given the slots' executors now.
   *
   * <p>A thread of a slot without an executor goes to the living slot with the fewest threads, the
   * first of them if several; among slots that still have fewer than {@code threadsPerSlot}. The
   * same input gives the same answer, so that each stage of a batch may ask for itself. Time:
   * threads × slots.
   */
  Resolved resolve(Slots living, int threadsPerSlot) {
    Map<String, Integer> load = new HashMap<>();
    String[][] executors = new String[slots.length][];
    for (int level = 0; level < slots.length; level++) {
      executors[level] = new String[slots[level].length];
      for (int partition = 0; partition < slots[level].length; partition++) {
        String executor = living.executor(slots[level][partition]);
        executors[level][partition] = executor;
        if (executor != null) {
          load.merge(executor, 1, Integer::sum);
        }
      }
    }
    return new Resolved(executors, fallBacks(executors, living, load, threadsPerSlot));
  }

  private List<FallBack> fallBacks(
      String[][] executors, Slots living, Map<String, Integer> load, int threadsPerSlot) {
    List<FallBack> found = new ArrayList<>();
    for (int level = 0; level < slots.length; level++) {
      for (int partition = 0; partition < slots[level].length; partition++) {
        if (executors[level][partition] == null) {
          String instead = leastLoaded(living, load, threadsPerSlot);
          executors[level][partition] = instead;
          load.merge(String.valueOf(instead), 1, Integer::sum);
          found.add(new FallBack(level, partition, slots[level][partition], instead));
        }
      }
    }
    return found;
  }

  private static String leastLoaded(Slots living, Map<String, Integer> load, int threadsPerSlot) {
    String best = null;
    int fewest = threadsPerSlot;
    for (int slot = 0; slot < living.count(); slot++) {
      String executor = living.executor(slot);
      if (executor != null && load.getOrDefault(executor, 0) < fewest) {
        best = executor;
        fewest = load.getOrDefault(executor, 0);
      }
    }
    return best;
  }
}
