package org.slotwise;

import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.slotwise.meters.Attempt;
import org.slotwise.meters.Latency;
import org.slotwise.meters.MeterBatch;
import org.slotwise.meters.MeterIn;
import org.slotwise.meters.MeterOut;
import org.slotwise.work.Work;
import scala.Function1;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The SQL functions of Slotwise, registered in a session by {@code spark.sql.extensions}: {@code
 * burn_us}, {@code wait_us}, {@code hold_mb}, {@code call_url} ({@link Work}); {@code meter_in},
 * {@code meter_batch}, {@code meter_out}, {@code meter_sent}, {@code meter_latency}, {@code
 * attempt}.
 */
public final class Functions implements Function1<SparkSessionExtensions, BoxedUnit> {

  /** Makes the expression of a call. */
  private interface Builder {
    Expression of(List<Expression> arguments);
  }

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    add(extensions, "burn_us", 1, 1, given -> work("burnMicros", DataTypes.LongType, given));
    add(extensions, "wait_us", 1, 1, given -> work("waitMicros", DataTypes.LongType, given));
    add(extensions, "hold_mb", 1, 1, given -> work("holdMegabytes", DataTypes.LongType, given));
    add(extensions, "call_url", 2, 2, given -> work("callUrl", DataTypes.StringType, given));
    add(extensions, "meter_in", 1, 2, MeterIn::new);
    add(extensions, "meter_batch", 4, 4, MeterBatch::new);
    add(extensions, "meter_out", 1, 3, Functions::meterOut);
    add(extensions, "meter_sent", 2, 3, MeterOut::sent);
    add(extensions, "meter_latency", 1, 1, given -> new Latency(given.get(0)));
    add(extensions, "attempt", 1, 1, given -> new Attempt(given.get(0)));
    return BoxedUnit.UNIT;
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

  /** A call of a static method of {@link Work}, null if an argument is, once for every record. */
  private static Expression work(String method, DataType result, List<Expression> given) {
    List<AbstractDataType> types =
        method.equals("callUrl")
            ? List.of(DataTypes.StringType, DataTypes.LongType)
            : List.of(DataTypes.LongType);
    return new StaticInvoke(
        Work.class,
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
