package org.slotwise.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/**
 * Takes rows (sink, id, ts, key, value) and writes each where its sink says; those of a sink that is
 * not listed go nowhere.
 */
public final class Outputs extends ForeachWriter<Row> {

  /**
   * A sink: {@code format} is json, with the folder as its {@code target}, or kafka, with the topic and
   * the producer's options.
   */
  public record Sink(String format, String target, Map<String, String> options)
      implements Serializable {
    /** Files of several writers of one task are kept apart. */
    Sink within(String folder) {
      return format.equals("kafka") ? this : new Sink(format, target + "/" + folder, options);
    }

    Output opened(long partition, long epoch) {
      Output made =
          format.equals("kafka") ? new KafkaTopic(target, options) : new JsonLines(target);
      made.open(partition, epoch);
      return made;
    }
  }

  private final HashMap<String, Sink> sinks;
  private transient Map<String, Output> opened;
  private transient long partition;
  private transient long epoch;

  private Outputs(HashMap<String, Sink> sinks) {
    this.sinks = sinks;
  }

  /** From JSON, for Python: {@code {sink: {format, target, options}}}. */
  public static Outputs parse(String json) throws JsonProcessingException {
    ObjectMapper mapper = new ObjectMapper();
    return new Outputs(
        mapper.readValue(
            json,
            mapper.getTypeFactory().constructMapType(HashMap.class, String.class, Sink.class)));
  }

  @Override
  public boolean open(long ofPartition, long ofEpoch) {
    partition = ofPartition;
    epoch = ofEpoch;
    opened = new HashMap<>();
    return true;
  }

  @Override
  public void process(Row row) {
    Sink sink = sinks.get(row.getString(0));
    if (sink != null) {
      opened
          .computeIfAbsent(row.getString(0), name -> sink.opened(partition, epoch))
          .write(row.getLong(1), row.getLong(2), row.getAs(3), row.getAs(4));
    }
  }

  @Override
  public void close(Throwable failure) {
    RuntimeException first = null;
    for (Output output : opened == null ? Map.<String, Output>of().values() : opened.values()) {
      try {
        output.close(first == null ? failure : first);
      } catch (RuntimeException failed) {
        first = first == null ? failed : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
