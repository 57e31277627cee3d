package org.slotwise.work;

final class WindowsTest {
  private WindowsTest() {}

  static void aWindowBeginsAtAMultipleOfItsDuration() {
    assert Windows.start(125, 60, 0) == 120;
    assert Windows.end(125, 60, 0) == 180;
    assert Windows.start(120, 60, 0) == 120;
    assert Windows.start(119, 60, 0) == 60;
  }

  static void anOffsetMovesIt() {
    assert Windows.start(125, 60, 10) == 70;
    assert Windows.start(130, 60, 10) == 130;
    assert Windows.start(5, 60, -10) == -10;
  }

  static void timesBefore1970AreInWindows() {
    assert Windows.start(-1, 60, 0) == -60;
    assert Windows.end(-60, 60, 0) == 0;
  }
}
