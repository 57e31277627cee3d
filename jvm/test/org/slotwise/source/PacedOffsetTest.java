package org.slotwise.source;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

final class PacedOffsetTest {
  private static final long END = 1000;

  private PacedOffsetTest() {}

  private static Pace pace(String arrivals, int partitions) {
    return Pace.parse(
        new CaseInsensitiveStringMap(
            Map.of(
                "points", "0:100", "arrivals", arrivals, "partitions", "" + partitions, "records",
                "" + END)));
  }

  private static PacedReader.Cursor cursor(Pace pace, PacedOffset offset, int partition) {
    return new PacedReader.Cursor(
        pace, offset.startMicros(), offset.positions().get(partition));
  }

  /** Reads from each partition a random number of records, and gives where that ends. */
  private static PacedOffset readSome(Pace pace, PacedOffset from, Random random, Set<Long> seen) {
    List<PacedOffset.Position> ends = new ArrayList<>();
    for (int p = 0; p < from.positions().size(); p++) {
      PacedReader.Cursor cursor = cursor(pace, from, p);
      for (int n = random.nextInt(60); n > 0 && cursor.dueMicros() < Long.MAX_VALUE; n--) {
        assert seen.add(cursor.take()) : "an id came twice";
      }
      ends.add(cursor.position());
    }
    return PacedOffset.parse(new PacedOffset(from.startMicros(), ends).json());
  }

  private static void noneIsLostOrDoubled(String arrivals) {
    for (int seed = 0; seed < 50; seed++) {
      Random random = new Random(seed);
      Set<Long> seen = new HashSet<>();
      int partitions = 1 + random.nextInt(5);
      Pace pace = pace(arrivals, partitions);
      PacedOffset offset = PacedOffset.first(0, partitions, END, pace.arrivals());
      for (int batch = 0; batch < 10_000 && seen.size() < END; batch++) {
        offset = readSome(pace, offset, random, seen);
        offset = offset.spread(1 + random.nextInt(5), END, pace.arrivals());
      }
      assert seen.size() == END : seen.size();
      assert seen.stream().allMatch(id -> id >= 0 && id < END);
    }
  }

  static void restartsWithOtherPartitionsLoseAndDoubleNothing() {
    noneIsLostOrDoubled("constant");
    noneIsLostOrDoubled("poisson");
  }

  private static void takenAtOnceAsOneByOne(String arrivals) {
    for (int seed = 0; seed < 50; seed++) {
      Random random = new Random(seed);
      Pace pace = pace(arrivals, 3);
      PacedOffset offset = PacedOffset.first(0, 3, END, pace.arrivals());
      offset = readSome(pace, offset, random, new HashSet<>()).spread(2, END, pace.arrivals());
      // Never exactly at a record: due times are rounded to microseconds.
      long now = random.nextInt(12_000) * 1000L + 501;
      for (int p = 0; p < 2; p++) {
        PacedReader.Cursor atOnce = cursor(pace, offset, p);
        atOnce.takeUntil(now);
        PacedReader.Cursor oneByOne = cursor(pace, offset, p);
        while (oneByOne.dueMicros() <= now) {
          oneByOne.take();
        }
        assert atOnce.read() == oneByOne.read() : atOnce.read() + " for " + oneByOne.read();
        assert atOnce.dueMicros() == oneByOne.dueMicros();
      }
    }
  }

  static void whatIsDueIsTakenAtOnce() {
    takenAtOnceAsOneByOne("constant");
    takenAtOnceAsOneByOne("poisson");
  }

  static void evenArrivalsAreDueAtTheirIdWhateverThePartitions() {
    Pace pace = pace("constant", 3);
    PacedOffset offset = PacedOffset.first(5_000_000, 3, END, pace.arrivals());
    PacedReader.Cursor one = cursor(pace, offset, 1);
    assert one.dueMicros() == 5_010_000;
    assert one.take() == 1;
    assert one.dueMicros() == 5_040_000;
    PacedReader.Cursor spread = cursor(pace, offset.spread(2, END, pace.arrivals()), 1);
    assert spread.dueMicros() == 5_010_000 || spread.dueMicros() == 5_020_000;
  }

  static void poissonGapsHaveMeanAndDeviationOne() {
    Arrivals poisson = Arrivals.parse("poisson", 7);
    double sum = 0;
    double squares = 0;
    int count = 100_000;
    for (int id = 0; id < count; id++) {
      double gap = poisson.gap(id, 1);
      sum += gap;
      squares += gap * gap;
    }
    double mean = sum / count;
    assert Math.abs(mean - 1) < 0.02 : mean;
    double deviation = Math.sqrt(squares / count - mean * mean);
    assert Math.abs(deviation - 1) < 0.03 : deviation;
  }

  static void aMicroBatchReadsWhatIsDueAndTheSameWhenItIsReadAgain() throws Exception {
    Pace pace = pace("poisson", 2);
    PacedStream stream = new PacedStream(pace);
    long past = PacedReader.microsNow() - 3_000_000;
    PacedOffset start = PacedOffset.first(past, 2, END, pace.arrivals());
    PacedOffset end = (PacedOffset) stream.latestOffset(start, ReadLimit.allAvailable());
    List<Long> first = ids(stream.planInputPartitions(start, end));
    assert first.size() > 200 && first.size() < 400 : first.size();
    assert first.equals(ids(stream.planInputPartitions(start, end)));
  }

  private static List<Long> ids(InputPartition[] parts) {
    List<Long> ids = new ArrayList<>();
    for (InputPartition part : parts) {
      PacedReader reader = new PacedReader((PacedReader.Part) part);
      while (reader.next()) {
        ids.add(reader.get().getLong(0));
      }
    }
    return ids;
  }

  static void aCheckpointOfAnotherSourceIsRefused() {
    try {
      PacedOffset.parse("{\"topic\":{\"0\":1}}");
    } catch (IllegalArgumentException refused) {
      assert refused.getMessage().contains("not of the paced source");
      return;
    }
    throw new AssertionError("not refused");
  }
}
