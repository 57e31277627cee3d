package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ImplicitCastInputTypes;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.AnyDataType$;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code meter_in(x)}: x, and one arrival counted. {@code meter_in(x, ts)}: also how long ago ts
 * (µs since the epoch) was. {@code meter_in(x, ts, position)}: also where in its topic the record is.
 */
public final class MeterIn extends OncePerRecord implements ImplicitCastInputTypes {
  private static final List<AbstractDataType> TYPES =
      List.of(AnyDataType$.MODULE$, DataTypes.LongType, DataTypes.LongType);

  private final boolean hasDue;
  private final boolean hasPosition;

  public MeterIn(List<Expression> given) {
    super("meter_in", given);
    hasDue = given.size() > 1;
    hasPosition = given.size() > 2;
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterIn(changed);
  }

  @Override
  public Seq<AbstractDataType> inputTypes() {
    return CollectionConverters.asScala(TYPES.subList(0, hasPosition ? 3 : hasDue ? 2 : 1)).toSeq();
  }

  /** So that a test for null is never folded, and this is evaluated for the test's sake. */
  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    TaskMeter meter = TaskMeter.current();
    if (meter != null && hasPosition) {
      meter.arrived((Long) child(1).eval(row), (Long) child(2).eval(row));
    } else if (meter != null && hasDue) {
      meter.arrived((Long) child(1).eval(row));
    } else if (meter != null) {
      meter.arrived();
    }
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    if (!hasDue) {
      return new ExprCode(
          value.code().$plus(calling(context, "arrived()")), value.isNull(), value.value());
    }
    ExprCode due = child(1).genCode(context);
    if (!hasPosition) {
      Block call = calling(context, String.format("arrived(%s)", due.value()));
      return new ExprCode(
          value.code().$plus(due.code()).$plus(call), value.isNull(), value.value());
    }
    ExprCode position = child(2).genCode(context);
    Block call =
        calling(context, String.format("arrived(%s, %s)", due.value(), position.value()));
    return new ExprCode(
        value.code().$plus(due.code()).$plus(position.code()).$plus(call),
        value.isNull(),
        value.value());
  }
}
