package org.slotwise.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which living executor stands for which slot.
 *
 * <p>A slot belongs to a host. It keeps its executor as long as that lives; then it takes the first
 * executor of its host (by number) that stands for no other slot, or none.
 */
final class Slots {
  private static final Comparator<String> BY_NUMBER =
      Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder());

  private final String[] hosts;
  private final String[] executors;

  Slots(List<String> hosts) {
    this.hosts = hosts.toArray(String[]::new);
    this.executors = new String[this.hosts.length];
  }

  /**
   * Slots of other hosts, or in another order. Executors stand for slots of their host again, in the
   * same order, so that threads of a host that stays do not move without need.
   */
  Slots on(List<String> hosts) {
    Slots made = new Slots(hosts);
    Map<String, String> bound = new LinkedHashMap<>();
    for (int slot = 0; slot < executors.length; slot++) {
      if (executors[slot] != null) {
        bound.put(executors[slot], this.hosts[slot]);
      }
    }
    List<String> free = new ArrayList<>(bound.keySet());
    for (int slot = 0; slot < made.executors.length; slot++) {
      made.executors[slot] = takeFirst(free, made.hosts[slot], bound);
    }
    return made;
  }

  int count() {
    return hosts.length;
  }

  String host(int slot) {
    return slot < hosts.length ? hosts[slot] : "no host";
  }

  /** The executor of a slot at the last {@link #bind}; null if it had none, or there is no such slot. */
  String executor(int slot) {
    return slot < executors.length ? executors[slot] : null;
  }

  /** The slot that an executor stands for; -1 for none. */
  int slot(String executor) {
    return executor == null ? -1 : Arrays.asList(executors).indexOf(executor);
  }

  /** Brings the binding up to date. {@code living} maps executors to their hosts. */
  void bind(Map<String, String> living) {
    Set<String> taken = new HashSet<>();
    for (int slot = 0; slot < executors.length; slot++) {
      if (executors[slot] != null && !living.containsKey(executors[slot])) {
        executors[slot] = null;
      } else if (executors[slot] != null) {
        taken.add(executors[slot]);
      }
    }
    List<String> free = new ArrayList<>(living.keySet());
    free.removeAll(taken);
    free.sort(BY_NUMBER);
    for (int slot = 0; slot < executors.length; slot++) {
      if (executors[slot] == null) {
        executors[slot] = takeFirst(free, hosts[slot], living);
      }
    }
  }

  private static String takeFirst(List<String> free, String host, Map<String, String> living) {
    for (String executor : free) {
      if (living.get(executor).equals(host)) {
        free.remove(executor);
        return executor;
      }
    }
    return null;
  }
}
