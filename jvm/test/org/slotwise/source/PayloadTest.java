package org.slotwise.source;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

final class PayloadTest {
  private PayloadTest() {}

  static void aRecordsValueDependsOnItsIdOnly() {
    for (String text : List.of("id", "text(40)", "words(4)")) {
      assert Payload.parse(text).of(17).equals(Payload.parse(text).of(17));
      assert !Payload.parse(text).of(17).equals(Payload.parse(text).of(18));
    }
    assert Payload.parse("id").of(17).toString().equals("17");
    assert Payload.parse("text(40)").of(3).toString().matches("[a-z]{40}");
    assert Payload.parse("words(4)").of(3).toString().matches("w\\d+( w\\d+){3}");
  }

  static void someWordsAreFrequent() {
    Payload words = Payload.parse("words(1)");
    int first = 0;
    for (int id = 0; id < 10_000; id++) {
      first += words.of(id).toString().equals("w1") ? 1 : 0;
    }
    assert first > 800 && first < 1200 : first; // log 2 / log 1000 of them
  }

  static void aFileIsReplayedFromTheTop() throws IOException {
    Path file = Files.createTempFile("payload", ".txt");
    Files.writeString(file, "a\nb\nc\n");
    Payload lines = Payload.parse("file(" + file + ")");
    assert lines.of(0).toString().equals("a");
    assert lines.of(5).toString().equals("c");
    Files.delete(file);
  }

  static void invalidOnesAreRefused() {
    for (String invalid : List.of("", "text", "text(x)", "file(/no/such/file)", "bytes(3)")) {
      try {
        Payload.parse(invalid);
      } catch (IllegalArgumentException refused) {
        assert refused.getMessage().contains("payload") : refused.getMessage();
        continue;
      }
      throw new AssertionError("not refused: " + invalid);
    }
  }
}
