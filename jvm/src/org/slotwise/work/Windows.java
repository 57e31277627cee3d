package org.slotwise.work;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.TimeWindow;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code window(time, duration[, slide, start])}: the window that a time is in, as an ordinary value.
 *
 * <p>Spark's own function filters the rows of the whole query that have no time, and with them the
 * tuples of other operators. This one gives NULL for them. Sliding windows are refused: a tuple is
 * in several of them. A BIGINT counts as µs.
 */
public final class Windows {
  private Windows() {}

  /** The call's expression, named {@code window}. */
  public static Expression of(List<Expression> given) {
    Expression time = given.get(0);
    TimeWindow asked = asked(given);
    if (asked.windowDuration() <= 0) {
      throw new IllegalArgumentException("window: its duration must be more than 0");
    }
    if (asked.slideDuration() != asked.windowDuration()) {
      throw new IllegalArgumentException(
          "window: a tuple would be in several sliding windows: use one of equal duration and"
              + " slide, or a flat operator that makes a tuple for each");
    }
    Expression start = bound("start", time, asked);
    Expression end = bound("end", time, asked);
    List<Expression> fields =
        List.of(Literal$.MODULE$.apply("start"), start, Literal$.MODULE$.apply("end"), end);
    Expression window = new CreateNamedStruct(CollectionConverters.asScala(fields).toSeq());
    Expression none = Literal.create(null, window.dataType());
    return new Alias(
        new If(new IsNull(time), none, window),
        "window",
        NamedExpression$.MODULE$.newExprId(),
        CollectionConverters.asScala(List.<String>of()).toSeq(),
        Option.empty(),
        CollectionConverters.asScala(List.<String>of()).toSeq());
  }

  /** When the window that contains {@code micros} begins, in µs. */
  public static long start(long micros, long duration, long offset) {
    return micros - Math.floorMod(micros - offset, duration);
  }

  /** When it ends. */
  public static long end(long micros, long duration, long offset) {
    return start(micros, duration, offset) + duration;
  }

  /** Spark's function, for what it makes of the durations. */
  private static TimeWindow asked(List<Expression> given) {
    return switch (given.size()) {
      case 2 -> new TimeWindow(given.get(0), given.get(1));
      case 3 -> new TimeWindow(given.get(0), given.get(1), given.get(2));
      default -> new TimeWindow(given.get(0), given.get(1), given.get(2), given.get(3));
    };
  }

  private static Expression bound(String method, Expression time, TimeWindow asked) {
    DataType type = time.dataType();
    boolean isTime = type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType);
    if (!isTime && !type.equals(DataTypes.LongType)) {
      throw new IllegalArgumentException(
          "window: expected a TIMESTAMP, or a BIGINT of µs, not " + type.sql());
    }
    DataType made = isTime ? type : DataTypes.TimestampType;
    Expression micros =
        isTime ? new PreciseTimestampConversion(time, type, DataTypes.LongType) : time;
    List<Expression> arguments =
        List.of(
            micros,
            Literal$.MODULE$.apply(asked.windowDuration()),
            Literal$.MODULE$.apply(asked.startTime()));
    List<AbstractDataType> types =
        List.of(DataTypes.LongType, DataTypes.LongType, DataTypes.LongType);
    Expression found =
        new StaticInvoke(
            Windows.class,
            DataTypes.LongType,
            method,
            CollectionConverters.asScala(arguments).toSeq(),
            CollectionConverters.asScala(types).toSeq(),
            true,
            true,
            true,
            Option.empty());
    return new PreciseTimestampConversion(found, DataTypes.LongType, made);
  }
}
