package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ImplicitCastInputTypes;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.AnyDataType$;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code meter_out(x, targets)}: x, and one tuple counted as emitted to each target. {@code
 * meter_sent} counts the same where the operator is done with its record already: one of several
 * tuples it made of it.
 */
public final class MeterOut extends OncePerRecord implements ImplicitCastInputTypes {
  private static final List<AbstractDataType> TYPES =
      List.of(AnyDataType$.MODULE$, DataTypes.createArrayType(DataTypes.IntegerType));

  private final boolean isDone;

  private MeterOut(boolean isDone, Expression value, Expression targets) {
    super(isDone ? "meter_out" : "meter_sent", List.of(value, targets));
    this.isDone = isDone;
  }

  public static MeterOut done(Expression value, Expression targets) {
    return new MeterOut(true, value, targets);
  }

  public static MeterOut sent(Expression value, Expression targets) {
    return new MeterOut(false, value, targets);
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterOut(isDone, changed.get(0), changed.get(1));
  }

  @Override
  public Seq<AbstractDataType> inputTypes() {
    return CollectionConverters.asScala(TYPES).toSeq();
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    Object given = child(1).eval(row);
    if (given != null && !(given instanceof ArrayData)) {
      throw new IllegalArgumentException("meter_out takes an array of targets, not " + given);
    }
    ArrayData targets = (ArrayData) given;
    if (isDone) {
      TaskMeter.emitted(targets);
    } else {
      TaskMeter.sent(targets);
    }
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    ExprCode targets = child(1).genCode(context);
    String call =
        String.format(
            "%s.%s(%s ? null : %s);",
            METER, isDone ? "emitted" : "sent", targets.isNull(), targets.value());
    return new ExprCode(
        value.code().$plus(targets.code()).$plus(code(call)), value.isNull(), value.value());
  }
}
