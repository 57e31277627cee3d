package org.slotwise.source;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The streaming source {@code paced}: record n is due at a time known in advance and carries it, so
 * that a late record's wait counts; ids are 0, 1, 2, …, so that lost and doubled ones show.
 *
 * <p>Columns: id, ts (when it was due, µs since the epoch), value. Options: {@code points} and
 * {@code period} (see {@link Schedule}), {@code arrivals} (constant, poisson), {@code seed}, {@code
 * partitions}, {@code payload} (see {@link Payload}), {@code records} (stop after so many), {@code
 * delayMs} (before the first). The partitions may change from one start to the next.
 */
public final class PacedSource implements TableProvider, DataSourceRegister {
  static final StructType SCHEMA =
      new StructType()
          .add("id", DataTypes.LongType, false)
          .add("ts", DataTypes.LongType, false)
          .add("value", DataTypes.StringType, false);

  @Override
  public String shortName() {
    return "paced";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    Pace.parse(options); // so that load() refuses a wrong option, not the first batch
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] by, Map<String, String> properties) {
    return new PacedTable();
  }

  private static final class PacedTable implements Table, SupportsRead {
    @Override
    public String name() {
      return "paced";
    }

    @Override
    @SuppressWarnings("deprecation")
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      Pace pace = Pace.parse(options);
      return () -> new PacedScan(pace);
    }
  }

  private record PacedScan(Pace pace) implements Scan {
    @Override
    public StructType readSchema() {
      return SCHEMA;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new PacedStream(pace);
    }
  }
}
