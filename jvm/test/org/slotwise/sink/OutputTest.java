package org.slotwise.sink;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;

final class OutputTest {
  private OutputTest() {}

  /** Notes how it is closed, and throws if it is to. */
  private record Noted(String name, boolean throwsWhenClosed, List<String> closed)
      implements Output {
    @Override
    public void open(long partition, long epoch) {}

    @Override
    public void write(long id, long ts, byte[] key, byte[] value, Row row) {}

    @Override
    public void close(Throwable failure) {
      closed.add(name + ": " + (failure == null ? "done" : failure.getMessage()));
      if (throwsWhenClosed) {
        throw new IllegalStateException(name + " is full");
      }
    }
  }

  static void oneThatFailsLeavesNoOtherOpen() {
    List<String> closed = new ArrayList<>();
    List<Output> outputs =
        List.of(
            new Noted("a", false, closed),
            new Noted("b", true, closed),
            new Noted("c", true, closed),
            new Noted("d", false, closed));
    String thrown = null;
    try {
      Output.closeAll(outputs, null);
    } catch (IllegalStateException failed) {
      thrown = failed.getMessage();
    }
    assert "b is full".equals(thrown) : thrown;
    assert closed.equals(List.of("a: done", "b: done", "c: b is full", "d: b is full")) : closed;
  }

  static void afterAFailureAllAreClosedWithIt() {
    List<String> closed = new ArrayList<>();
    Output.closeAll(List.of(new Noted("a", false, closed)), new IllegalStateException("killed"));
    assert closed.equals(List.of("a: killed")) : closed;
  }
}
