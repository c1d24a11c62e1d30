"""Makes certificates for servers on this machine.

    certificates.py FOLDER

FOLDER gets ca.pem, valid.pem and valid.key, expired.pem and expired.key. Both certificates are for localhost
and 127.0.0.1, and from the authority of ca.pem.
"""

import datetime
import ipaddress
import pathlib
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
FOLDER = pathlib.Path(sys.argv[1])


def name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def usage(**uses):
    of_all = ["digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"]
    of_all += ["key_cert_sign", "crl_sign", "encipher_only", "decipher_only"]
    return x509.KeyUsage(**{use: uses.get(use, False) for use in of_all})


def certificate(subject, key, begin, end, is_ca):
    return (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name("Authority of a test"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def write(file, signed):
    (FOLDER / file).write_bytes(signed.public_bytes(serialization.Encoding.PEM))


authority = ec.generate_private_key(ec.SECP256R1())
built = certificate("Authority of a test", authority, NOW - 90 * DAY, NOW + 3650 * DAY, is_ca=True)
built = built.add_extension(usage(key_cert_sign=True, crl_sign=True), critical=True)
write("ca.pem", built.sign(authority, hashes.SHA256()))

for file, begin, end in [("valid", NOW - DAY, NOW + 365 * DAY), ("expired", NOW - 30 * DAY, NOW - DAY)]:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    built = certificate("localhost", key, begin, end, is_ca=False)
    built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
    built = built.add_extension(usage(digital_signature=True), critical=True)
    built = built.add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    built = built.add_extension(issuer, critical=False)
    write(f"{file}.pem", built.sign(authority, hashes.SHA256()))
    (FOLDER / f"{file}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
