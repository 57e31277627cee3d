package org.slotwise.source;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The value of a record, a function of its id, so that a record read again is the same.
 *
 * <p>Written {@code id} (the id in decimals), {@code text(64)} (that many letters), {@code
 * words(5)} (words of a vocabulary of 1,000, a few of them frequent), {@code file(/path)} (record n
 * is line n, from the top again after the last; the file is held in memory by every executor).
 */
interface Payload extends Serializable {
  int VOCABULARY = 1000;

  UTF8String of(long id);

  static Payload parse(String text) {
    if (text.equals("id")) {
      return id -> UTF8String.fromString(Long.toString(id));
    }
    Matcher call = Pattern.compile("(text|words|file)\\((.+)\\)").matcher(text.trim());
    if (!call.matches()) {
      throw new IllegalArgumentException(
          "invalid payload '" + text + "': expected id, text(64), words(5) or file(/path)");
    }
    String given = call.group(2).trim();
    return switch (call.group(1)) {
      case "text" -> letters(count(given));
      case "words" -> words(count(given));
      default -> lines(given);
    };
  }

  private static int count(String text) {
    if (!text.matches("[0-9]{1,6}")) {
      throw new IllegalArgumentException("invalid payload size '" + text + "': expected an integer");
    }
    return Integer.parseInt(text);
  }

  private static Payload letters(int size) {
    return id -> {
      byte[] letters = new byte[size];
      long random = id;
      for (int i = 0; i < size; i++) {
        if (i % 12 == 0) {
          random = Randomness.mix(random + i) >>> 1;
        }
        letters[i] = (byte) ('a' + random % 26);
        random /= 26;
      }
      return UTF8String.fromBytes(letters);
    };
  }

  private static Payload words(int count) {
    return id -> {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < count; i++) {
        // A log-uniform rank: word r comes about as often as 1/r, as in natural text.
        double uniform = Randomness.uniform(id * 1_000_003L + i);
        text.append(i == 0 ? "w" : " w").append((int) Math.pow(VOCABULARY, uniform));
      }
      return UTF8String.fromString(text.toString());
    };
  }

  private static Payload lines(String path) {
    Lines.of(path); // fails here, on the driver, rather than in the tasks
    return id -> {
      List<UTF8String> lines = Lines.of(path);
      return lines.get((int) (id % lines.size()));
    };
  }

  /** The files read in this process. */
  final class Lines {
    private static final Map<String, List<UTF8String>> READ = new ConcurrentHashMap<>();

    private Lines() {}

    static List<UTF8String> of(String path) {
      return READ.computeIfAbsent(path, Lines::read);
    }

    private static List<UTF8String> read(String path) {
      try (var lines = Files.lines(Path.of(path))) {
        List<UTF8String> read = lines.map(UTF8String::fromString).toList();
        if (read.isEmpty()) {
          throw new IllegalArgumentException("payload file " + path + " is empty");
        }
        return read;
      } catch (IOException | UncheckedIOException unreadable) {
        throw new IllegalArgumentException("cannot read payload file " + path, unreadable);
      }
    }
  }
}
