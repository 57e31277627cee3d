package org.slotwise.sink;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.OutputWriter;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Function1;

/** Rows, in one {@link BatchFile} of Parquet for each partition of a batch that has some. */
final class ParquetFile implements Output {
  /** Bytes that a writer holds before it writes a group of rows: slots may be small. */
  private static final int GROUP = 16 << 20;

  private final String folder;
  private BatchFile file;
  private OutputWriter writer;
  private Function1<Object, Object> converter;

  ParquetFile(String folder) {
    this.folder = folder;
  }

  @Override
  public void open(long partition, long epoch) {
    file = new BatchFile(folder, partition, epoch, "parquet");
  }

  @Override
  public void write(long id, long ts, byte[] key, byte[] value, Row row) {
    if (writer == null) {
      begin(row.schema());
    }
    writer.write((InternalRow) converter.apply(row));
  }

  private void begin(StructType schema) {
    converter = CatalystTypeConverters.createToCatalystConverter(schema);
    Configuration settings = new Configuration();
    // Without files of checksums, which would not be renamed with theirs.
    settings.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    settings.setBoolean("fs.file.impl.disable.cache", true);
    settings.setInt("parquet.block.size", GROUP);
    SQLConf conf = SQLConf.get();
    try {
      Job job = Job.getInstance(settings);
      ParquetOptions options =
          new ParquetOptions(scala.collection.immutable.Map$.MODULE$.empty(), conf);
      OutputWriterFactory factory = ParquetUtils.prepareWrite(conf, job, schema, options);
      TaskAttemptContext task =
          new TaskAttemptContextImpl(job.getConfiguration(), new TaskAttemptID());
      writer = factory.newInstance(file.unfinished.toUri().toString(), schema, task);
    } catch (IOException failed) {
      throw file.named(failed);
    }
  }

  @Override
  public void close(Throwable failure) {
    try {
      if (writer != null) {
        writer.close();
        if (failure == null) {
          file.finish();
        }
      }
    } catch (IOException failed) {
      throw file.named(failed);
    } finally {
      file.discard();
    }
  }
}
