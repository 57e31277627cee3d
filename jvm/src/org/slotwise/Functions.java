package org.slotwise;

import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.slotwise.meters.Attempt;
import org.slotwise.meters.Latency;
import org.slotwise.meters.MeterBatch;
import org.slotwise.meters.MeterIn;
import org.slotwise.meters.MeterOut;
import org.slotwise.source.RecordPlace;
import org.slotwise.work.LineFiles;
import org.slotwise.work.Pi;
import org.slotwise.work.ThreadState;
import org.slotwise.work.Windows;
import org.slotwise.work.Work;
import scala.Function1;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The SQL functions of Slotwise, registered in a session by {@code spark.sql.extensions}: {@code
 * burn_us}, {@code wait_us}, {@code lock_us}, {@code hold_mb}, {@code call_url} ({@link Work});
 * {@code pi_digits} ({@link Pi}); {@code write_lines} ({@link LineFiles}); {@code thread_count},
 * {@code thread_mean}, {@code thread_previous}, {@code thread_top} ({@link ThreadState}); {@code
 * window} ({@link Windows}); {@code service_url}; {@code record_place} ({@link RecordPlace}); {@code
 * meter_in}, {@code meter_batch}, {@code meter_out}, {@code meter_sent}, {@code meter_latency},
 * {@code attempt}.
 */
public final class Functions implements Function1<SparkSessionExtensions, BoxedUnit> {
  private static final DataType LONG = DataTypes.LongType;
  private static final DataType DOUBLE = DataTypes.DoubleType;
  private static final DataType TEXT = DataTypes.StringType;
  private static final String SERVICE = "spark.slotwise.service.";
  private static final String FILES = "spark.slotwise.files";

  /** Makes the expression of a call. */
  private interface Builder {
    Expression of(List<Expression> arguments);
  }

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    addWork(extensions);
    addThreadState(extensions);
    addCall(extensions, "record_place", RecordPlace.class, "next", LONG);
    add(extensions, "meter_in", 1, 3, MeterIn::new);
    add(extensions, "meter_batch", 4, 4, MeterBatch::new);
    add(extensions, "meter_out", 1, 3, Functions::meterOut);
    add(extensions, "meter_sent", 2, 3, MeterOut::sent);
    add(extensions, "meter_latency", 1, 1, given -> new Latency(given.get(0)));
    add(extensions, "window", 2, 4, Windows::of);
    add(extensions, "attempt", 1, 2, Attempt::new);
    return BoxedUnit.UNIT;
  }

  private static void addWork(SparkSessionExtensions to) {
    addCall(to, "burn_us", Work.class, "burnMicros", LONG, LONG);
    addCall(to, "wait_us", Work.class, "waitMicros", LONG, LONG);
    addCall(to, "lock_us", Work.class, "lockMicros", LONG, LONG);
    addCall(to, "hold_mb", Work.class, "holdMegabytes", LONG, LONG);
    addCall(to, "call_url", Work.class, "callUrl", TEXT, TEXT, LONG);
    addCall(to, "pi_digits", Pi.class, "digits", TEXT, LONG);
    add(to, "service_url", 1, 1, given -> setting(SERVICE + given.get(0).eval(null)));
    Builder writing =
        given -> {
          List<Expression> all = List.of(setting(FILES), given.get(0), given.get(1));
          return call(LineFiles.class, "write", LONG, all, List.of(TEXT, TEXT, LONG));
        };
    add(to, "write_lines", 2, 2, writing);
  }

  private static void addThreadState(SparkSessionExtensions to) {
    Class<?> state = ThreadState.class;
    addCall(to, "thread_count", state, "count", LONG, TEXT, TEXT);
    addCall(to, "thread_mean", state, "mean", DOUBLE, TEXT, TEXT, DOUBLE, LONG);
    addCall(to, "thread_previous", state, "previous", TEXT, TEXT, TEXT, TEXT);
    addCall(to, "thread_top", state, "top", TEXT, TEXT, TEXT, DOUBLE, LONG);
  }

  /** What the session's setting is when the query is made. */
  private static Expression setting(String name) {
    String value = SQLConf.get().getConfString(name, null);
    if (value == null) {
      throw new IllegalArgumentException("the setting " + name + " is missing");
    }
    return Literal$.MODULE$.apply(value);
  }

  private static void add(
      SparkSessionExtensions extensions, String name, int least, int most, Builder builder) {
    Function1<Seq<Expression>, Expression> checked =
        arguments -> {
          List<Expression> given = CollectionConverters.asJava(arguments);
          if (given.size() < least || given.size() > most) {
            throw new IllegalArgumentException(
                name + " takes " + (least == most ? "" : least + " to ") + most
                    + " arguments, not " + given.size());
          }
          return builder.of(given);
        };
    extensions.injectFunction(
        new Tuple3<>(
            new FunctionIdentifier(name), new ExpressionInfo("org.slotwise", name), checked));
  }

  private static void addCall(
      SparkSessionExtensions extensions,
      String name,
      Class<?> in,
      String method,
      DataType result,
      AbstractDataType... types) {
    Builder builder = given -> call(in, method, result, given, List.of(types));
    add(extensions, name, types.length, types.length, builder);
  }

  /** A call of a static method, null if an argument is, once for every record. */
  private static Expression call(
      Class<?> in,
      String method,
      DataType result,
      List<Expression> given,
      List<AbstractDataType> types) {
    return new StaticInvoke(
        in,
        result,
        method,
        CollectionConverters.asScala(given).toSeq(),
        CollectionConverters.asScala(types).toSeq(),
        true,
        true,
        false,
        Option.empty());
  }

  /** Without targets the record goes to nobody in the query, and counts as one. */
  private static Expression meterOut(List<Expression> given) {
    Expression nobody = Literal$.MODULE$.apply(new Integer[] {-1});
    return MeterOut.done(given.size() > 1 ? given : List.of(given.get(0), nobody));
  }
}
