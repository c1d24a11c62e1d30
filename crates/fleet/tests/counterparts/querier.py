"""Asks a server of Pyroscope's API, and pushes to it.

    querier.py ask URL METHOD JSON [--token TOKEN]
    querier.py push URL FILE LABEL=VALUE... [--token TOKEN]
    querier.py send URL PATH FILE [HEADER:VALUE...]
    querier.py burst URL PATH FILE TIMES
    querier.py profile URL SERVICE SECONDS [--token TOKEN]
    querier.py otlp URL SERVICE

ask sends a message as Grafana's data source does (Connect, protocol buffers), then as JSON, and prints the answer, which
must be the same: {"status": ..., "answer": ...}. Unknown fields in the answer are faults. SelectMergeProfile's answer is written to the
file that the environment variable PPROF names. push sends the profile of a file with Push, send a body as it
is, and burst a body some times, with the statuses as the answer.
profile has pyroscope-io profile a Python function, otlp sends a profile made of OpenTelemetry's classes.
"""

import gzip
import json
import os
import sys
import time
import urllib.error
import urllib.request

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, unknown_fields

# The fields of pyroscope's querier.proto, types.proto, push.proto and google/v1/profile.proto: name, number, type, and
# whether it is repeated.
SELECTION = [("profile_typeID", 1, "string"), ("label_selector", 2, "string")]
MESSAGES = {
    "LabelPair": [("name", 1, "string"), ("value", 2, "string")],
    "Labels": [("labels", 1, "LabelPair", True)],
    "ProfileType": [("ID", 1, "string"), ("name", 2, "string"), ("sample_type", 4, "string"),
                    ("sample_unit", 5, "string"), ("period_type", 6, "string"), ("period_unit", 7, "string")],
    "ProfileTypesRequest": [("start", 1, "int64"), ("end", 2, "int64")],
    "ProfileTypesResponse": [("profile_types", 1, "ProfileType", True)],
    "LabelNamesRequest": [("matchers", 1, "string", True), ("start", 2, "int64"), ("end", 3, "int64")],
    "LabelNamesResponse": [("names", 1, "string", True)],
    "LabelValuesRequest": [("name", 1, "string"), ("matchers", 2, "string", True), ("start", 3, "int64"),
                           ("end", 4, "int64")],
    "LabelValuesResponse": [("names", 1, "string", True)],
    "SeriesRequest": [("matchers", 1, "string", True), ("label_names", 2, "string", True), ("start", 3, "int64"),
                      ("end", 4, "int64")],
    "SeriesResponse": [("labels_set", 2, "Labels", True)],
    "CallSite": [("name", 1, "string")],
    "StackTraceSelector": [("call_site", 1, "CallSite", True)],
    "SelectMergeStacktracesRequest": SELECTION + [("start", 3, "int64"), ("end", 4, "int64"), ("max_nodes", 5, "int64"),
                                                  ("stack_trace_selector", 7, "StackTraceSelector")],
    "SelectMergeStacktracesResponse": [("flamegraph", 1, "FlameGraph")],
    "SelectMergeSpanProfileRequest": SELECTION + [("span_selector", 3, "string", True), ("start", 4, "int64"),
                                                  ("end", 5, "int64"), ("max_nodes", 6, "int64")],
    "SelectMergeSpanProfileResponse": [("flamegraph", 1, "FlameGraph")],
    "FlameGraph": [("names", 1, "string", True), ("levels", 2, "Level", True), ("total", 3, "int64"),
                   ("max_self", 4, "int64")],
    "Level": [("values", 1, "int64", True)],
    "SelectMergeProfileRequest": SELECTION + [("start", 3, "int64"), ("end", 4, "int64")],
    "SelectSeriesRequest": SELECTION + [("start", 3, "int64"), ("end", 4, "int64"), ("group_by", 5, "string", True),
                                        ("step", 6, "double"), ("aggregation", 7, "int32"), ("limit", 9, "int64")],
    "SelectSeriesResponse": [("series", 1, "Series", True)],
    "Series": [("labels", 1, "LabelPair", True), ("points", 2, "Point", True)],
    "Point": [("value", 1, "double"), ("timestamp", 2, "int64")],
    "PushRequest": [("series", 1, "RawProfileSeries", True)],
    "RawProfileSeries": [("labels", 1, "LabelPair", True), ("samples", 2, "RawSample", True)],
    "RawSample": [("raw_profile", 1, "bytes"), ("ID", 2, "string")],
    "PushResponse": [],
    "SelectMergeProfileResponse": [("sample_type", 1, "ValueType", True), ("sample", 2, "Sample", True),
                                   ("mapping", 3, "Mapping", True), ("location", 4, "Location", True),
                                   ("function", 5, "Function", True), ("string_table", 6, "string", True),
                                   ("time_nanos", 9, "int64"), ("duration_nanos", 10, "int64"),
                                   ("period_type", 11, "ValueType"), ("period", 12, "int64")],
    "ValueType": [("type", 1, "int64"), ("unit", 2, "int64")],
    "Sample": [("location_id", 1, "uint64", True), ("value", 2, "int64", True), ("label", 3, "Label", True)],
    "Label": [("key", 1, "int64"), ("str", 2, "int64"), ("num", 3, "int64"), ("num_unit", 4, "int64")],
    "Mapping": [("id", 1, "uint64"), ("filename", 5, "int64"), ("has_functions", 7, "bool"),
                ("has_filenames", 8, "bool"), ("has_line_numbers", 9, "bool"), ("has_inline_frames", 10, "bool")],
    "Location": [("id", 1, "uint64"), ("mapping_id", 2, "uint64"), ("address", 3, "uint64"), ("line", 4, "Line", True)],
    "Line": [("function_id", 1, "uint64"), ("line", 2, "int64")],
    "Function": [("id", 1, "uint64"), ("name", 2, "int64"), ("system_name", 3, "int64"), ("filename", 4, "int64")],
}


def classes():
    of_field = descriptor_pb2.FieldDescriptorProto
    scalars = {name: getattr(of_field, f"TYPE_{name.upper()}")
               for name in ["string", "bytes", "bool", "int32", "int64", "uint64", "double"]}
    file = descriptor_pb2.FileDescriptorProto(name="pyroscope.proto", package="pyroscope", syntax="proto3")
    for name, fields in MESSAGES.items():
        described = file.message_type.add(name=name)
        for field, number, kind, *repeated in fields:
            added = described.field.add(name=field, number=number)
            added.label = of_field.LABEL_REPEATED if repeated else of_field.LABEL_OPTIONAL
            added.type = scalars.get(kind, of_field.TYPE_MESSAGE)
            if kind not in scalars:
                added.type_name = f".pyroscope.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"pyroscope.{name}"))
            for name in MESSAGES}


def post(url, body, headers):
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            status, headers, body = response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        status, headers, body = error.code, error.headers, error.read()
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return status, headers, body


def bearer(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


def call(url, service, method, message, answer_class, as_json=False, token=None):
    kind = "application/json" if as_json else "application/proto"
    headers = {"Content-Type": kind, "Connect-Protocol-Version": "1", "Accept-Encoding": "gzip",
               "User-Agent": "connect-go/1.18.1 (go1.24.1)"} | bearer(token)
    if as_json:
        body = json_format.MessageToJson(message).encode()
    else:
        body, headers["Content-Encoding"] = gzip.compress(message.SerializeToString()), "gzip"
    status, headers, body = post(f"{url}/{service}/{method}", body, headers)
    if status != 200:
        assert headers["Content-Type"] == "application/json", headers["Content-Type"]
        return status, json.loads(body)
    assert headers["Content-Type"] == kind, headers["Content-Type"]
    if as_json:
        answer = json_format.Parse(body, answer_class())
    else:
        answer = answer_class()
        answer.ParseFromString(body)
        check_unknown(answer)
    if method == "SelectMergeProfile" and "PPROF" in os.environ:
        with open(os.environ["PPROF"], "wb") as opened:
            opened.write(answer.SerializeToString())
    return status, json_format.MessageToDict(answer)


def check_unknown(what):
    numbers = [field.field_number for field in unknown_fields.UnknownFieldSet(what)]
    assert not numbers, f"{what.DESCRIPTOR.name} has unknown fields: {numbers}"
    for field, value in what.ListFields():
        if field.message_type is not None:
            for part in value if hasattr(value, "__len__") else [value]:
                check_unknown(part)


def ask(url, method, text, token):
    known = classes()
    message = json_format.Parse(text, known[f"{method}Request"]())
    answer = known[f"{method}Response"]
    answers = [call(url, "querier.v1.QuerierService", method, message, answer, as_json, token)
               for as_json in [True, False]]
    assert answers[0] == answers[1], answers
    return answers[0]


def push(url, path, labels, token):
    known = classes()
    with open(path, "rb") as opened:
        sample = known["RawSample"](raw_profile=opened.read())
    pairs = [known["LabelPair"](name=name, value=value) for name, value in (it.split("=", 1) for it in labels)]
    series = known["RawProfileSeries"](labels=pairs, samples=[sample])
    message = known["PushRequest"](series=[series])
    return call(url, "push.v1.PusherService", "Push", message, known["PushResponse"], token=token)


def busy(until):
    number = 0
    while time.monotonic() < until:
        number += sum(range(1000))
    return number


def profile(url, service, seconds, token):
    import pyroscope

    pyroscope.configure(application_name=service, server_address=url, sample_rate=100, upload_interval=1,
                        tags={"region": "eu"}, http_headers=bearer(token))
    busy(time.monotonic() + float(seconds))
    pyroscope.shutdown()
    return 200, None


def otlp(url, service):
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2
    from opentelemetry.proto.common.v1 import common_pb2
    from opentelemetry.proto.profiles.v1development import profiles_pb2

    texts = ["", "cpu", "nanoseconds", "samples", "count", "main", "work", "main.py", "thread.name", "worker"]
    at = texts.index
    dictionary = profiles_pb2.ProfilesDictionary(
        string_table=texts,
        mapping_table=[profiles_pb2.Mapping()],
        link_table=[profiles_pb2.Link(), profiles_pb2.Link(trace_id=bytes(15) + b"\1", span_id=bytes(7) + b"\2")],
        function_table=[profiles_pb2.Function()] + [
            profiles_pb2.Function(name_strindex=at(name), filename_strindex=at("main.py")) for name in ["main", "work"]],
        location_table=[profiles_pb2.Location()] + [
            profiles_pb2.Location(lines=[profiles_pb2.Line(function_index=index, line=7)]) for index in [1, 2]],
        stack_table=[profiles_pb2.Stack(), profiles_pb2.Stack(location_indices=[2, 1]),
                     profiles_pb2.Stack(location_indices=[1])],
        attribute_table=[profiles_pb2.KeyValueAndUnit(), profiles_pb2.KeyValueAndUnit(
            key_strindex=at("thread.name"), value=common_pb2.AnyValue(string_value="worker"))],
    )
    # A value, and an event for each time.
    samples = [profiles_pb2.Sample(stack_index=1, values=[3], attribute_indices=[1], link_index=1),
               profiles_pb2.Sample(stack_index=2, timestamps_unix_nano=[time.time_ns()] * 2)]
    profile = profiles_pb2.Profile(
        sample_type=profiles_pb2.ValueType(type_strindex=at("samples"), unit_strindex=at("count")),
        period_type=profiles_pb2.ValueType(type_strindex=at("cpu"), unit_strindex=at("nanoseconds")),
        period=10_000_000, time_unix_nano=time.time_ns(), duration_nano=10**9, samples=samples)
    message = profiles_service_pb2.ExportProfilesServiceRequest(dictionary=dictionary)
    resource = message.resource_profiles.add()
    for key, value in [("service.name", service), ("service.version", "1.2")]:
        resource.resource.attributes.add(key=key, value=common_pb2.AnyValue(string_value=value))
    resource.scope_profiles.add(profiles=[profile])
    headers = {"Content-Type": "application/x-protobuf"}
    status, _, body = post(f"{url}/v1development/profiles", message.SerializeToString(), headers)
    if status != 200:
        return status, json.loads(body)
    answer = profiles_service_pb2.ExportProfilesServiceResponse()
    answer.ParseFromString(body)
    return status, json_format.MessageToDict(answer)


def burst(url, path, file, times):
    with open(file, "rb") as opened:
        body = opened.read()
    return 200, [post(url + path, body, {})[0] for _ in range(int(times))]


def send(url, path, file, headers):
    with open(file, "rb") as opened:
        body = opened.read()
    headers = dict(it.split(":", 1) for it in headers)
    status, _, body = post(url + path, body, headers)
    return status, json.loads(body) if body.startswith(b"{") else body.decode()


def option(arguments, name):
    if name not in arguments:
        return None
    place = arguments.index(name)
    arguments.pop(place)
    return arguments.pop(place)


def main(arguments):
    token = option(arguments, "--token")
    what, url, *rest = arguments
    match what:
        case "ask":
            status, answer = ask(url, *rest, token)
        case "push":
            status, answer = push(url, rest[0], rest[1:], token)
        case "send":
            status, answer = send(url, rest[0], rest[1], rest[2:])
        case "burst":
            status, answer = burst(url, *rest)
        case "profile":
            status, answer = profile(url, *rest, token)
        case "otlp":
            status, answer = otlp(url, *rest)
    print(json.dumps({"status": status, "answer": answer}))


main(sys.argv[1:])
