package org.slotwise.sink;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/**
 * Takes rows (sink, id, ts, key, value, and a row for each sink that takes such) and writes each where
 * its sink says; those of a sink that is not listed go nowhere.
 */
public final class Outputs extends ForeachWriter<Row> {

  /**
   * A sink: {@code format} is json or parquet, with the folder as its {@code target}; kafka, with the
   * topic and the producer's options; console, with the sink's name; foreach, with the name of a class.
   * {@code column} is the place of the tuple as a row, 0 for a sink that takes messages.
   */
  public record Sink(String format, String target, Map<String, String> options, int column)
      implements Serializable {
    /** Files of several writers of one task are kept apart. */
    Sink within(String folder) {
      return format.equals("kafka")
          ? this
          : new Sink(format, target + "/" + folder, options, column);
    }

    Output opened(long partition, long epoch) {
      Output made =
          switch (format) {
            case "kafka" -> new KafkaTopic(target, options);
            case "json" -> new JsonLines(target);
            case "parquet" -> new ParquetFile(target);
            case "console" -> new Console(target, Integer.parseInt(options.get("numRows")));
            case "foreach" -> new Foreach(target);
            default -> throw new IllegalArgumentException("unknown format " + format);
          };
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

  /** From JSON, for Python: {@code {sink: {format, target, options, column}}}. */
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
          .write(
              row.getLong(1),
              row.getLong(2),
              row.getAs(3),
              row.getAs(4),
              sink.column() == 0 ? null : row.getStruct(sink.column()));
    }
  }

  @Override
  public void close(Throwable failure) {
    if (opened != null) {
      Output.closeAll(opened.values(), failure);
    }
  }
}
