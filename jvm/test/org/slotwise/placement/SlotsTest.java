package org.slotwise.placement;

import java.util.List;
import java.util.Map;

final class SlotsTest {
  private SlotsTest() {}

  private static Slots slots() {
    return new Slots(List.of("a", "a", "b"));
  }

  static void slotsTakeTheExecutorsOfTheirHostByNumber() {
    Slots slots = slots();
    slots.bind(Map.of("10", "a", "9", "a", "2", "b"));
    assert slots.executor(0).equals("9");
    assert slots.executor(1).equals("10");
    assert slots.executor(2).equals("2");
    assert slots.slot("10") == 1;
  }

  static void aSlotKeepsItsExecutorAndAReplacementFillsTheGap() {
    Slots slots = slots();
    slots.bind(Map.of("0", "a", "1", "a", "2", "b"));
    slots.bind(Map.of("1", "a", "2", "b"));
    assert slots.executor(0) == null;
    assert slots.executor(1).equals("1");
    slots.bind(Map.of("1", "a", "2", "b", "3", "a"));
    assert slots.executor(0).equals("3");
    assert slots.executor(1).equals("1");
  }

  static void anExecutorOfAnotherHostOrTooManyStandForNoSlot() {
    Slots slots = slots();
    slots.bind(Map.of("0", "c", "1", "b", "2", "b"));
    assert slots.executor(0) == null;
    assert slots.executor(2).equals("1");
    assert slots.slot("2") == -1;
    assert slots.slot(null) == -1;
  }

  static void executorsStandForSlotsOfTheirHostAgain() {
    Slots slots = slots();
    slots.bind(Map.of("0", "a", "1", "a", "2", "b"));
    slots.bind(Map.of("1", "a", "2", "b", "3", "a")); // slot 0 has executor 3 now
    Slots others = slots.on(List.of("c", "b", "a", "a"));
    assert others.executor(0) == null;
    assert others.executor(1).equals("2");
    assert others.executor(2).equals("3");
    assert others.executor(3).equals("1");
    others.bind(Map.of("1", "a", "2", "b", "3", "a", "4", "c"));
    assert others.executor(0).equals("4");
    assert others.executor(2).equals("3");
  }

  static void executorsOfHostsThatAreGoneStandForNoSlot() {
    Slots slots = slots();
    slots.bind(Map.of("0", "a", "1", "a", "2", "b"));
    Slots fewer = slots.on(List.of("a"));
    assert fewer.executor(0).equals("0");
    assert fewer.slot("1") == -1 && fewer.slot("2") == -1;
    assert fewer.executor(2) == null; // a placement may still name it
  }
}
