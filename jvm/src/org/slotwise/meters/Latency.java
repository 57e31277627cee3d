package org.slotwise.meters;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ImplicitCastInputTypes;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code meter_latency(ts)}: ts, and the time since ts (µs since the epoch) counted in its bucket
 * of the {@link Sketch}.
 */
public final class Latency extends OncePerRecord implements ImplicitCastInputTypes {
  public Latency(Expression due) {
    super("meter_latency", List.of(due));
  }

  @Override
  Expression with(List<Expression> changed) {
    return new Latency(changed.get(0));
  }

  @Override
  public Seq<AbstractDataType> inputTypes() {
    return CollectionConverters.asScala(List.<AbstractDataType>of(DataTypes.LongType)).toSeq();
  }

  @Override
  public Object eval(InternalRow row) {
    Object due = child(0).eval(row);
    TaskMeter meter = TaskMeter.current();
    if (due != null && meter != null) {
      meter.arrivedAtEnd((Long) due);
    }
    return due;
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    ExprCode due = child(0).genCode(context);
    Block call = calling(context, String.format("arrivedAtEnd(%s)", due.value()));
    return new ExprCode(due.code().$plus(call), due.isNull(), due.value());
  }
}
