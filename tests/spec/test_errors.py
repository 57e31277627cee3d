"""Every kind of mistake in a spec: one sentence, with the right line and column."""

from __future__ import annotations

import dataclasses

import pytest

from slotwise.model import ModelError, SlotwiseError
from slotwise.spec import SpecError, dump, load, loads
from slotwise.spec.build import document_of

SPEC = """\
topology:
  name: small
  operators:
    in: {kind: source}
    work: {expr: "upper(value)"}
    out: {kind: sink}
  streams:
    - {from: in, to: work, selectivity: 2}
    - {from: work, to: out, grouping: {fields: key}}
profiles:
  in: {fixed: {threads: 1, cpu: 0.1}}
  work: {threads: {1: {rate: 10, cpu: 0.5, mem: 0.1}, 2: {rate: 15, cpu: 0.9, mem: 0.1}}}
  out: {service: {rate: 40, cpu: 0.1}}
catalog:
  - {type: D1, slots: 1, memory_gb: 3.5}
  - {type: D2, slots: 2, memory_gb: 7}
goals: {rate: 20, latency_ms: 100}
"""
MEASURED = "{at: 2026-11-18T09:30:00Z, spark: 4.3.0, java: 17.0.1, cpu: Some, source: run}"
LOOP = "    - {from: out, to: work, selectivity: 0.5, loop: true}\n"
CLUSTER = "cluster:\n  - {name: a, count: 2, slots: 1, memory_gb: 2}\n"
CATALOG = SPEC[SPEC.index("catalog:") : SPEC.index("goals:")]

CASES = {
    "unknown operator": (
        ("to: out,", "to: oot,"),
        "9:24: stream work → oot names the unknown operator 'oot': there are in, work, out",
    ),
    "unknown grouping": (
        ("{fields: key}", "suffle"),
        "9:39: topology.streams.1.grouping is \"suffle\": expected one of 'auto', 'shuffle', "
        "'fields', 'all', 'global', 'direct', 'weighted' or 'local-or-shuffle'",
    ),
    "grouping of a wrong form": (
        ("{fields: key}", "7"),
        "9:39: topology.streams.1.grouping is 7: expected a grouping such as shuffle, "
        "or {fields: NAME}",
    ),
    "fields grouping without fields": (
        ("{fields: key}", "fields"),
        "9:7: grouping 'fields' needs a field: expected {fields: NAME}",
    ),
    "no field in the list": (
        ("{fields: key}", "{fields: []}"),
        "9:40: topology.streams.1.grouping.fields is empty: expected at least 1 of them",
    ),
    "unknown kind": (
        ("kind: sink", "kind: sinc"),
        '6:17: topology.operators.out.kind is "sinc": '
        "expected one of 'source', 'operator' or 'sink'",
    ),
    "operator twice": (
        ("    out: {kind: sink}", "    work: {kind: sink}"),
        "6:5: duplicate key 'work': rename or remove one",
    ),
    "machine type twice": (("type: D2", "type: D1"), "16:5: duplicate machine type 'D1'"),
    "node twice": (
        (CATALOG, CLUSTER + "  - {name: a-2, slots: 1, memory_gb: 2}\n"),
        "16:5: duplicate node name 'a-2'",
    ),
    "stream into a source": (("to: out,", "to: in,"), "9:24: stream work → in leads into"),
    "stream twice": (
        ("    - {from: work", "    - {from: in, to: work}\n    - {from: work"),
        "9:7: duplicate stream in → work: use one, with their selectivities added",
    ),
    "unreachable operator": (
        ("    - {from: work, to: out, grouping: {fields: key}}\n", ""),
        "6:5: operator 'out' is unreachable: no stream leads to it from a source",
    ),
    "cycle": (
        ("kind: sink}\n  streams:\n", "}\n  streams:\n" + LOOP.replace(", loop: true", "")),
        "8:7: there is a cycle",
    ),
    "loop gain": (
        ("kind: sink}\n  streams:\n", "}\n  streams:\n" + LOOP.replace("0.5", "1.5")),
        "8:7: the loop work → out → work multiplies its tuples by 1.5 each round: "
        "lower its selectivities until that is below 1",
    ),
    "large loop gain": (
        ("kind: sink}\n  streams:\n", "}\n  streams:\n" + LOOP.replace("0.5", "1e12")),
        "8:7: the loop work → out → work multiplies its tuples",
    ),
    "rates that multiply": (
        (
            "}\n  streams:\n    - {from: in, to: work, selectivity: 2}\n"
            "    - {from: work, to: out,",
            "}\n    last: {}\n  streams:\n    - {from: in, to: work, selectivity: 1e12}\n"
            "    - {from: work, to: last, selectivity: 1e12}\n"
            "    - {from: last, to: out, selectivity: 1e12,",
        ),
        "6:5: operator 'out' would get more than 1e+30 tuples per input tuple: "
        "reduce the selectivities on the way to it",
    ),
    "figure beyond range": (
        ("selectivity: 2}", "selectivity: 1e-300}"),
        "8:41: topology.streams.0.selectivity is 1e-300: expected a number from 1e-12 to 1e+12",
    ),
    "zero rate": (
        ("rate: 10,", "rate: 0,"),
        "12:30: profiles.work.threads.1.rate is 0: expected a number > 0",
    ),
    "negative rate": (
        ("rate: 20,", "rate: -1,"),
        "17:15: goals.rate is -1: expected a number >",
    ),
    "NaN rate": (
        ("rate: 20,", "rate: .nan,"),
        "17:15: goals.rate is nan: expected a finite number",
    ),
    "infinite rate": (("rate: 20,", "rate: 1e999,"), "17:15: goals.rate is inf: expected a finite"),
    "number as text": (
        ("rate: 20,", "rate: '20',"),
        '17:15: goals.rate is "20": expected a number, without quotes',
    ),
    "boolean as number": (
        ("rate: 20,", "rate: true,"),
        "17:15: goals.rate is true: expected a num",
    ),
    "fraction of a slot": (
        ("slots: 2", "slots: 2.5"),
        "16:23: catalog.1.slots is 2.5: expected an integer",
    ),
    "negative cpu": (("cpu: 0.9", "cpu: -0.9"), "12:74: profiles.work.threads.2.cpu is -0.9: exp"),
    "empty thread table": (
        ("{1: {rate: 10, cpu: 0.5, mem: 0.1}, 2: {rate: 15, cpu: 0.9, mem: 0.1}}", "{}"),
        "12:10: profiles.work.threads is empty: expected at least 1 of them",
    ),
    "non-monotone thread table": (
        ("{threads: {1: {rate: 10", "{threads: {3: {rate: 10"),
        "12:3: thread counts must rise from at least 1, but 2 follows 3",
    ),
    "thread row twice": ((" 2: {rate", " 1: {rate"), "12:55: duplicate key '1'"),
    "no threads": (
        ("{1: {rate", "{0: {rate"),
        "12:20: 0 is not a valid key here: expected a number ≥ 1",
    ),
    "threads as text": (
        ("{1: {rate", "{one: {rate"),
        '12:20: "one" is not a valid key here: expected an integer, without quotes',
    ),
    "no profile": (
        ("  out: {service: {rate: 40, cpu: 0.1}}\n", ""),
        "6:5: operator 'out' has no profile: add one under 'profiles'",
    ),
    "profile of nobody": (
        ("  out: {service", "  owt: {service"),
        "13:3: there is a profile for 'owt', but no such operator",
    ),
    "profile without form": (
        ("{service: {rate: 40, cpu: 0.1}}", "{}"),
        "13:3: profiles.out: the profile has no figures: "
        "expected threads, costs, service, or fixed",
    ),
    "profile of a fixed load and another form": (
        ("{service: {", "{fixed: {}, service: {"),
        "13:3: profiles.out: the profile has both fixed and service: expected fixed alone",
    ),
    "a fixed load that was measured": (
        ("{fixed: {threads: 1, cpu: 0.1}}", f"{{fixed: {{}}, measured: {MEASURED}}}"),
        "11:3: profiles.in: the profile has both fixed and measured: expected fixed alone",
    ),
    "measured without figures": (
        ("{service: {rate: 40, cpu: 0.1}}", f"{{measured: {MEASURED}}}"),
        "13:3: profiles.out: the profile has no figures",
    ),
    "measured at no date": (
        (
            "cpu: 0.1}}\ncat",
            f"cpu: 0.1}}, measured: {MEASURED.replace('T09:30:00Z', ' noon')}}}\ncat",
        ),
        "13:3: at is '2026-11-18 noon': expected a date and time such as 2026-11-18T09:30:00Z",
    ),
    "measured by nobody": (
        ("cpu: 0.1}}\ncat", f"cpu: 0.1}}, measured: {MEASURED.replace('run', 'guess')}}}\ncat"),
        "13:124: profiles.out.measured.source is \"guess\": expected one of 'experiment' or 'run'",
    ),
    "negative hop": (
        ("goals:", "platform: {in_node: {send_us: -1}}\ngoals:"),
        "17:31: platform.in_node.send_us is -1: expected a number ≥ 0",
    ),
    "platform measured at no date": (
        ("goals:", f"platform: {{measured: {MEASURED.replace('T09:30:00Z', ' noon')}}}\ngoals:"),
        "17:12: at is '2026-11-18 noon': expected a date and time",
    ),
    "an include in a text": (
        ("goals:", "include: [a.yaml]\ngoals:"),
        "17:1: only a spec file can include others: write the profiles out here",
    ),
    "an include of nothing": (("goals:", "include: []\ngoals:"), "17:1: include is empty"),
    "costs all zero": (("{service: {rate: 40, cpu: 0.1}}", "{costs: {}}"), "13:3: all task costs"),
    "missing key": (("rate: 40, ", ""), "13:9: 'profiles.out.service' has no 'rate': add it"),
    "missing section": ((CATALOG, ""), "1:1: there are no machines: add a 'catalog' of types"),
    "both sections": (
        ("goals:", CLUSTER + "goals:"),
        "17:1: there is a catalog and a cluster: remove one of them",
    ),
    "too many slots": (
        (CATALOG, CLUSTER.replace("slots: 1,", "slots: 900000,")),
        "14:1: the cluster has more than 1,000,000 slots: use fewer",
    ),
    "memory too small": (
        ("slots: 1, memory_gb: 3.5", "slots: 9, memory_gb: 5e-324"),
        "15:37: catalog.0.memory_gb is 5e-324: expected a number from 1e-12 to 1e+12",
    ),
    "memory too small to divide": (
        ("slots: 1, memory_gb: 3.5", "slots: 9, memory_gb: 1e-12"),
        "15:5: memory_gb per slot of 'D1' is 1.11111e-13: expected a number from 1e-12 to 1e+12",
    ),
    "unknown key": (
        ("selectivity", "selectvity"),
        "8:28: topology.streams.0: unknown key 'selectvity': did you mean 'selectivity'?",
    ),
    "unknown key far from any": (
        ("goals: {", "goals: {zzz: 1, "),
        "17:9: goals: unknown key 'zzz': expected one of rate, latency_ms, latency_p50_ms",
    ),
    "unknown key with braces": (
        ("goals: {", "goals: {'{key}': 1, "),
        "17:9: goals: unknown key '{k",
    ),
    "unknown section": (("catalog:", "katalog:"), "14:1: unknown key 'katalog': did you mean 'cat"),
    "number as a name": (
        ("    in: {kind", "    1: {kind"),
        "4:5: 1 is not a valid key here: expected text, in quotes if it looks like a number",
    ),
    "number as the name of a column": (
        ('{expr: "upper(value)"}', "{aggregate: {1: x}}"),
        "5:24: 1 is not a valid key here: expected text",
    ),
    "text for a number of key groups": (
        ('{expr: "upper(value)"}', "{aggregate: {by: value, key_groups: many}}"),
        "5:12: topology.operators.work.aggregate: 'key_groups' is 'many': expected an integer ≥ 1",
    ),
    "no key groups": (
        ('{expr: "upper(value)"}', "{aggregate: {by: value, key_groups: 0}}"),
        "5:47: topology.operators.work.aggregate.key_groups is 0: expected a number ≥ 1",
    ),
    "a number for an aggregate": (
        ('{expr: "upper(value)"}', "{aggregate: {by: value, n: 1}}"),
        "5:12: topology.operators.work.aggregate: 'n' is 1: expected Spark SQL, as text in quotes",
    ),
    "yes is not true": (
        ('{expr: "upper(value)"}', "{flat: yes}"),
        '5:18: topology.operators.work.flat is "yes": expected true or false',
    ),
    "text for a mapping": (
        ("goals: {rate: 20, latency_ms: 100}", "goals: fast"),
        '17:8: goals is "fast": expected a mapping (key: value)',
    ),
    "mapping for a list": (
        ("  - {type: D1, slots: 1, memory_gb: 3.5}\n  - {type", "  {type"),
        "14:1: catalog is a mapping: expected a list (- item)",
    ),
    "algorithm of a wrong form": (
        ("goals:", "scheduler: {placer: [sam]}\ngoals:"),
        "17:13: scheduler.placer is a list: expected a name, NAME:OPTION=VALUE or "
        "{NAME: {OPTION: VALUE}}",
    ),
    "option of a wrong form": (
        ("goals:", "scheduler: {placer: {exact: {seconds: [3]}}}\ngoals:"),
        "17:30: scheduler.placer.exact.seconds is a list: expected a number, a text, true or false",
    ),
    "infinite option": (
        ("goals:", "scheduler: {placer: {exact: {seconds: .inf}}}\ngoals:"),
        "17:39: scheduler.placer.exact.seconds is inf: expected an",
    ),
    "two algorithms": (
        ("goals:", "scheduler: {placer: {sam: {}, exact: {}}}\ngoals:"),
        "17:13: scheduler.placer is a mapping: expected at most 1 of them",
    ),
    "malformed options of an algorithm": (
        ("goals:", "scheduler: {placer: 'topology:alpha'}\ngoals:"),
        "17:21: invalid option 'alpha' in 'topology:alpha': expected NAME:OPTION=VALUE",
    ),
    "unknown schedule": (
        ("in: {kind: source}", "in: {kind: source, options: {schedule: setp}}"),
        "4:44: source 'in': unknown schedule 'setp': did you mean 'step'?",
    ),
    "invalid duration": (
        ("in: {kind: source}", "in: {kind: source, options: {delay: 5x}}"),
        "4:41: source 'in': invalid duration '5x': expected a number with ms, s, m or h, such as",
    ),
    "unknown option of a source": (
        ("in: {kind: source}", "in: {kind: source, options: {rate: 5}}"),
        "4:40: source 'in' has no option 'rate': expected one of arrivals, seed, schedule,",
    ),
    "syntax": (
        ("goals: {rate: 20, ", "goals: {rate: 20 "),
        "17:28: this is not valid YAML (expected ',' or '}', but got ':'): "
        "check indentation, quotes and brackets up to here",
    ),
    "tab": (
        ("  streams:", "\tstreams:"),
        "7:1: a tab is not allowed here in YAML: use spaces",
    ),
    "open bracket": (("100}\n", "100\n"), "18:1: this is not valid YAML (expected ',' or '}'"),
    "tag": (
        ("name: small", "name: !!python/object:os.system small"),
        "2:9: the YAML tag 'tag:yaml.org,2002:python/object:os.system' is not allowed: remove it",
    ),
    "own tag": (("name: small", "name: !x small"), "2:9: the YAML tag '!x' is not allowed"),
    "merge key": (
        ("goals: {", "goals: {<<: {rate: 3}, "),
        "17:9: merge keys ('<<') are not allowed: repeat the keys instead",
    ),
    "key that is a list": (
        ("  name: small", "  ? [a]\n  : small"),
        "2:5: a key must be plain text",
    ),
    "alias of nothing": (("name: small", "name: *it"), "2:9: unknown alias '*it': no '&it' above"),
    "alias of itself": (
        ("  in: {fixed", "  in: &a {x: *a, fixed"),
        "11:14: '*a' contains itself: repeat the value instead",
    ),
    "second document": (("goals:", "---\ngoals:"), "17:1: a second document starts here"),
    "half a surrogate pair": (('"upper(value)"', '"\\ud800"'), "5:18: half a surrogate pair"),
    "character that is none": (
        ('"upper(value)"', '"\\U0011FFFF"'),
        "5:16: this is not valid YAML (chr() arg not in range(0x110000)): check what follows",
    ),
    "version that is none": (
        ("topology:", f"%YAML {'9' * 5000}.1\n---\ntopology:"),
        "1:1: this is not valid YAML (Exceeds the limit (4300 digits)",
    ),
    "control character": (
        ("name: small", "name: sm\0ll"),
        "2:11: the character '\\x00' is not allowed",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_named_with_its_place(case: str) -> None:
    (old, new), expected = CASES[case]
    assert SPEC.count(old) == 1
    with pytest.raises(SpecError) as raised:
        loads(SPEC.replace(old, new), "my.yaml")
    assert str(raised.value).startswith(f"my.yaml:{expected}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: the spec is empty"),
        ("# only a comment\n", "1:1: the spec is empty"),
        ("~", "1:1: the spec is empty"),
        ("- a\n", "1:1: the spec is not a mapping: expected keys such as topology, prof"),
        ("just text", "1:1: the spec is not a mapping"),
        ("{}", "1:1: the spec has no 'topology': add it"),
        ("[" * 100_000, "1:33: values are nested more than 32 levels deep"),
        ("a:\n" + "".join(f"{' ' * n}- \n" for n in range(1, 200)), "33:33: values are nested"),
        ("{a: " * 100_000, "1:129: values are nested more than 32 levels deep"),
    ],
)
def test_documents_of_the_wrong_shape(text: str, expected: str) -> None:
    with pytest.raises(SpecError) as raised:
        loads(text, "my.yaml")
    assert str(raised.value).startswith(f"my.yaml:{expected}")


def test_a_billion_laughs_are_refused_before_they_are_laughed() -> None:
    lines = ["a0: &a0 [" + ", ".join(["lol"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 10)]
    with pytest.raises(SpecError, match=r"<string>:6:\d+: aliases repeat more than 1,000,000"):
        loads("\n".join(lines))


def test_an_honest_alias_is_written_out() -> None:
    text = SPEC.replace("in: {fixed: {threads: 1, cpu: 0.1}}", "in: &load {fixed: {cpu: 0.1}}")
    text = text.replace("out: {service: {rate: 40, cpu: 0.1}}", "out: *load")
    profiles = loads(text).profiles
    assert profiles["out"] == profiles["in"]


def test_an_error_inside_an_alias_stands_where_the_value_stands() -> None:
    text = SPEC.replace("in: {fixed: {threads: 1, cpu: 0.1}}", "in: &load {fixed: {cpu: -1}}")
    with pytest.raises(SpecError, match=r"<string>:11:27: profiles.in.fixed.cpu is -1"):
        loads(text.replace("out: {service: {rate: 40, cpu: 0.1}}", "out: *load"))


def test_of_several_mistakes_the_first_in_the_file_is_named() -> None:
    text = SPEC.replace("kind: sink", "kind: sinc").replace("rate: 20,", "rate: -1,")
    with pytest.raises(SpecError, match=r"<string>:6:17"):
        loads(text)


def test_empty_optional_sections_mean_the_defaults() -> None:
    spec = loads(SPEC.replace('work: {expr: "upper(value)"}', "work:") + "network:\nscheduler:\n")
    assert spec == loads(SPEC.replace('{expr: "upper(value)"}', "{}"))


def test_slot_memory_is_the_smallest_slot_unless_given() -> None:
    assert loads(SPEC).slot_memory_gb == 3.5
    assert loads(SPEC + "slot_memory_gb: 2\n").slot_memory_gb == 2.0
    assert load("chain").slot_memory_gb == pytest.approx(0.6)


def test_what_a_spec_cannot_say_is_not_dumped() -> None:
    chain = load("chain")
    other = dataclasses.replace(chain.profiles, slot_memory_mb=1.0)
    with pytest.raises(ModelError, match="a spec has one slot_memory_gb"):
        dump(dataclasses.replace(chain, profiles=other))


def test_a_count_stands_for_equal_nodes() -> None:
    cluster = load("chain").cluster
    assert cluster is not None
    assert [node.name for node in cluster.nodes][3:5] == ["node-a-4", "node-b-1"]
    document = document_of(load("chain"))
    assert document.cluster is not None
    assert len(document.cluster) == 8


def test_a_spec_error_is_a_slotwise_error_with_its_place() -> None:
    with pytest.raises(SlotwiseError) as raised:
        loads("a: 1", "x.yaml")
    error = raised.value
    assert isinstance(error, SpecError)
    assert (error.file, error.line, error.column) == ("x.yaml", 1, 1)


def test_names_with_line_breaks_or_terminal_codes_are_shown_escaped() -> None:
    with pytest.raises(SpecError) as raised:
        loads(SPEC.replace("to: out,", 'to: "a\\n\\e[31m",'))
    assert "unknown operator 'a\\n\\x1b[31m'" in str(raised.value)
