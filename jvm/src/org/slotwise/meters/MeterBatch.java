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
 * {@code meter_batch(x, records, nanos, age_us)}: x, and so many arrivals counted that an operator
 * outside the JVM has measured itself; nothing where {@code records} is null.
 */
public final class MeterBatch extends OncePerRecord implements ImplicitCastInputTypes {
  private static final List<AbstractDataType> TYPES =
      List.of(
          AnyDataType$.MODULE$, DataTypes.LongType, DataTypes.LongType, DataTypes.LongType);

  public MeterBatch(List<Expression> given) {
    super("meter_batch", given);
  }

  @Override
  Expression with(List<Expression> changed) {
    return new MeterBatch(changed);
  }

  @Override
  public Seq<AbstractDataType> inputTypes() {
    return CollectionConverters.asScala(TYPES).toSeq();
  }

  @Override
  public Object eval(InternalRow row) {
    Object value = child(0).eval(row);
    Object records = child(1).eval(row);
    TaskMeter meter = TaskMeter.current();
    if (records != null && meter != null) {
      meter.worked((Long) records, (Long) child(2).eval(row), (Long) child(3).eval(row));
    }
    return value;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode value = child(0).genCode(context);
    ExprCode records = child(1).genCode(context);
    ExprCode nanos = child(2).genCode(context);
    ExprCode age = child(3).genCode(context);
    String worked =
        String.format("worked(%s, %s, %s)", records.value(), nanos.value(), age.value());
    Block call =
        code("if (!" + records.isNull() + ") {")
            .$plus(calling(context, worked))
            .$plus(code("}"));
    return new ExprCode(
        value.code().$plus(records.code()).$plus(nanos.code()).$plus(age.code()).$plus(call),
        value.isNull(),
        value.value());
  }
}
