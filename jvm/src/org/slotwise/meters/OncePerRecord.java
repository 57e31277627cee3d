package org.slotwise.meters;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An expression that gives its first child's value and does something besides.
 *
 * <p>It is not deterministic, so that Spark evaluates it once per record, where it stands: neither
 * twice, nor elsewhere, nor never (unless nobody uses its value).
 */
abstract class OncePerRecord extends Expression implements Serializable {
  static final String METER = TaskMeter.class.getName();

  private final String name;
  private final List<Expression> children;

  OncePerRecord(String name, List<Expression> children) {
    this.name = name;
    this.children = List.copyOf(children);
  }

  abstract Expression with(List<Expression> changedChildren);

  final Expression child(int position) {
    return children.get(position);
  }

  /**
   * Generated Java that calls the task's meter, if it has one. The meter is looked up once, when the
   * task begins.
   */
  static Block calling(CodegenContext context, String call) {
    String meter =
        context.addMutableState(
            METER, "meter", name -> name + " = " + METER + ".current();", false, true);
    return code(String.format("if (%s != null) { %1$s.%s; }", meter, call));
  }

  /** A piece of Java for Spark's code generator. */
  static Block code(String text) {
    return new CodeBlock(
        CollectionConverters.asScala(List.of(text)).toSeq(),
        CollectionConverters.asScala(List.<JavaCode>of()).toSeq());
  }

  @Override
  public final DataType dataType() {
    return children.get(0).dataType();
  }

  @Override
  public boolean nullable() {
    return children.get(0).nullable();
  }

  @Override
  public final boolean deterministic() {
    return false;
  }

  @Override
  public final boolean foldable() {
    return false;
  }

  @Override
  public final String prettyName() {
    return name;
  }

  @Override
  public final Seq<Expression> children() {
    return CollectionConverters.asScala(children).toSeq();
  }

  @Override
  public final Expression withNewChildrenInternal(IndexedSeq<Expression> changed) {
    return with(CollectionConverters.asJava(changed));
  }

  @Override
  public final int productArity() {
    return children.size();
  }

  @Override
  public final Object productElement(int position) {
    return children.get(position);
  }

  @Override
  public final boolean canEqual(Object other) {
    return other.getClass() == getClass();
  }

  @Override
  public final boolean equals(Object other) {
    return other instanceof OncePerRecord same
        && same.name.equals(name)
        && same.children.equals(children);
  }

  @Override
  public final int hashCode() {
    return 31 * children.hashCode() + name.hashCode();
  }
}
