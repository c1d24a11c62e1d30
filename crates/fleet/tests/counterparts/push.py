"""Decodes a request to Pyroscope's /push.v1.PusherService/Push.

    push.py FILE

Prints JSON: {"series": [{"labels": {...}, "samples": [{"ID": ..., "path": ...}]}]}. The profile of sample N of
series M is written to FILE.M.N.pb as it was sent. Unknown fields, a label that a series has twice, and an ID
that is no UUID are faults.
"""

import json
import sys
import uuid

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, unknown_fields

# The fields of pyroscope's api/push/v1/push.proto and api/types/v1/types.proto: name, type or message, repeated.
MESSAGES = {
    "PushRequest": [("series", "RawProfileSeries", True)],
    "RawProfileSeries": [("labels", "LabelPair", True), ("samples", "RawSample", True)],
    "LabelPair": [("name", "string", False), ("value", "string", False)],
    "RawSample": [("raw_profile", "bytes", False), ("ID", "string", False)],
}


def push_request():
    of_field = descriptor_pb2.FieldDescriptorProto
    scalars = {"string": of_field.TYPE_STRING, "bytes": of_field.TYPE_BYTES}
    file = descriptor_pb2.FileDescriptorProto(name="push.proto", package="push.v1", syntax="proto3")
    for name, fields in MESSAGES.items():
        described = file.message_type.add(name=name)
        for number, (field, kind, repeated) in enumerate(fields, 1):
            added = described.field.add(name=field, number=number)
            added.label = of_field.LABEL_REPEATED if repeated else of_field.LABEL_OPTIONAL
            added.type = scalars.get(kind, of_field.TYPE_MESSAGE)
            if kind not in scalars:
                added.type_name = f".push.v1.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("push.v1.PushRequest"))()


def check(what, path):
    unknown = [field.field_number for field in unknown_fields.UnknownFieldSet(what)]
    if unknown:
        raise ValueError(f"{path} has unknown fields: {unknown}")


def decode(file):
    request = push_request()
    with open(file, "rb") as opened:
        request.ParseFromString(opened.read())
    check(request, "the request")
    found = []
    for m, series in enumerate(request.series):
        check(series, f"series {m}")
        labels = {}
        for label in series.labels:
            check(label, f"a label of series {m}")
            if label.name in labels:
                raise ValueError(f"series {m} has the label {label.name} twice")
            labels[label.name] = label.value
        samples = []
        for n, sample in enumerate(series.samples):
            check(sample, f"sample {n} of series {m}")
            uuid.UUID(sample.ID)
            path = f"{file}.{m}.{n}.pb"
            with open(path, "wb") as opened:
                opened.write(sample.raw_profile)
            samples.append({"ID": sample.ID, "path": path})
        found.append({"labels": labels, "samples": samples})
    return {"series": found}


try:
    print(json.dumps(decode(sys.argv[1]), indent=2))
except (ValueError, message.DecodeError) as fault:
    sys.exit(f"{sys.argv[1]}: {fault}")
