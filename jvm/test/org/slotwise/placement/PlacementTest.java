package org.slotwise.placement;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;

final class PlacementTest {
  private PlacementTest() {}

  private static Slots living(Map<String, String> executors) {
    Slots slots = new Slots(List.of("a", "b", "c"));
    slots.bind(executors);
    return slots;
  }

  static void everyThreadGoesToItsSlot() {
    Slots slots = living(Map.of("7", "a", "8", "b", "9", "c"));
    Placement.Resolved resolved = Placement.parse("0,2;1,1,0").resolve(slots, 3);
    assert Arrays.deepEquals(
        resolved.executors(), new String[][] {{"7", "9"}, {"8", "8", "7"}});
    assert resolved.fallBacks().isEmpty();
  }

  static void threadsOfADeadSlotGoToTheLeastLoaded() {
    Slots slots = living(Map.of("7", "a", "9", "c"));
    Placement.Resolved resolved = Placement.parse("0,0;1,1,1").resolve(slots, 8);
    assert Arrays.deepEquals(
        resolved.executors(), new String[][] {{"7", "7"}, {"9", "9", "7"}});
    assert resolved.fallBacks().size() == 3;
    assert resolved.fallBacks().get(2).equals(new Placement.FallBack(1, 2, 1, "7"));
  }

  static void withoutRoomAThreadGoesNowhere() {
    Slots slots = living(Map.of("7", "a"));
    Placement.Resolved resolved = Placement.parse("0,0;1").resolve(slots, 2);
    assert resolved.executors()[1][0] == null;
  }

  static void aTaskSetsPropertiesTellItsQuery() {
    Properties properties = new Properties();
    assert QueryStage.of(properties, 0, 1) == null;
    assert QueryStage.of(null, 0, 1) == null;
    properties.setProperty("sql.streaming.queryId", "id-1");
    properties.setProperty("streaming.sql.batchId", "4");
    properties.setProperty("spark.job.description", "count\nid = id-1\nrunId = r\nbatch = 4");
    assert QueryStage.of(properties, 1, 3).equals(new QueryStage("id-1", "count", 4, 1, 3));
    properties.setProperty("spark.job.tags", "a,broadcast exchange (runId 1)");
    assert QueryStage.of(properties, 0, 1) == null;
  }

  static void theJournalKeepsTheLastStages() {
    Journal journal = new Journal();
    for (int batch = 0; batch < 100 + Journal.KEPT_STAGES / 2; batch++) {
      for (int level = 0; level < 2; level++) {
        QueryStage stage = new QueryStage("id", "name", batch, level, 2);
        journal.begin(2 * batch + level, stage, 1, null);
      }
    }
    assert journal.stage(2 * 99) == null;
    assert journal.stage(2 * 100) != null;
    assert journal.lastStage() == 2 * (99 + Journal.KEPT_STAGES / 2) + 1;
  }

  static void theJournalTellsOfTheLastBatchThatIsWhole() {
    Journal journal = new Journal();
    for (int batch = 0; batch < 100; batch++) {
      for (int level = 0; level < 2; level++) {
        int stage = 2 * batch + level;
        journal.begin(stage, new QueryStage("id", "name", batch, level, 2), 1, new int[] {5, 6});
        journal.launched(stage, 1, 5, "e", "h");
      }
    }
    journal.begin(200, new QueryStage("id", "name", 100, 0, 2), 1, new int[] {5, 6});
    journal.launched(200, 1, 5, "e", "h");
    Journal.Pages pages = journal.of("name");
    assert pages.tasks().size() == 2;
    Journal.Launch last = pages.tasks().stream().reduce((a, b) -> b).get();
    assert last.equals(new Journal.Launch(99, 1, 1, 5, 6, "e", "h"));
    assert journal.of("another").tasks().isEmpty();
  }

  static void theJournalKeepsTheLastFallBacks() {
    Journal journal = new Journal();
    QueryStage stage = new QueryStage("id", "", 0, 0, 1);
    for (int i = 0; i < 3 * Journal.KEPT; i++) {
      journal.missed(stage, new Journal.Miss(i, 0, 0, 0, null, "gone"));
    }
    assert journal.of("id").fallBacks().size() == Journal.KEPT;
    assert journal.of("id").fallBacks().iterator().next().batch() == 2 * Journal.KEPT;
  }

  static void aMissIsNewsUntilItIsTheSameAsInTheBatchBefore() {
    Journal journal = new Journal();
    QueryStage stage = new QueryStage("id", "", 0, 0, 1);
    assert journal.missed(stage, new Journal.Miss(1, 0, 0, 5, "7", "gone"));
    assert !journal.missed(stage, new Journal.Miss(2, 0, 0, 5, "7", "gone"));
    assert journal.missed(stage, new Journal.Miss(2, 0, 1, 5, "7", "gone"));
    assert journal.missed(stage, new Journal.Miss(3, 0, 0, 5, "8", "gone"));
    // Meanwhile it was in its slot.
    assert journal.missed(stage, new Journal.Miss(9, 0, 0, 5, "8", "gone"));
  }
}
