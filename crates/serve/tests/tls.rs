//! The service over TLS: a client that knows its certificate is answered, and files that hold no certificate are told by name.

mod common;

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{Arc, mpsc::channel},
    thread,
    time::Duration,
};

use common::{facts, sample};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use veridiff_serve::{Certificate, Listen, Resident, ServeError, Service, ServiceOptions, TokenSource, serve};

const TOKEN: &str = "a token that is long enough";

/// A certificate for `localhost` with its key, which is worth nothing: `own` or `other`, each of
/// `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout own.key.pem -out own.chain.pem -days 36500
/// -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE`.
fn certificate(name: &str) -> Certificate {
    let file = |kind: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.{kind}.pem"));
    Certificate { chain: file("chain"), key: file("key") }
}

fn service() -> Arc<Service> {
    let tokens = TokenSource { plain: Some(TOKEN.to_owned()), ..TokenSource::default() };
    let open = |_: Option<&Resident>| Ok(Resident { gate: facts(), models: Vec::new(), settings: Default::default() });
    Service::start(ServiceOptions { workers: 1, tokens, ..ServiceOptions::default() }, Box::new(open)).unwrap()
}

fn listen(certificate: Certificate) -> Listen {
    Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), certificate: Some(certificate) }
}

/// A service that goes on until the tests end.
fn serving(certificate: Certificate) -> SocketAddr {
    let (address, addresses) = channel();
    thread::spawn(move || serve(&service(), &listen(certificate), |at| address.send(at).unwrap()));
    addresses.recv_timeout(Duration::from_secs(60)).unwrap()
}

/// A client that knows this chain alone.
fn client(
    address: SocketAddr,
    chain: &Path,
    name: &'static str,
    version: &'static SupportedProtocolVersion,
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(chain).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    StreamOwned::new(client, stream)
}

#[test]
fn a_client_that_knows_the_certificate_is_answered() {
    let own = certificate("own");
    let address = serving(own.clone());
    let body = sample("over-tls", "`area` multiplies `width` by `shape.height`.").to_string();
    let head = format!("Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {TOKEN}");
    let length = body.len();
    let request =
        format!("POST /v1/check HTTP/1.1\r\n{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    for (version, spoken) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)] {
        let mut stream = client(address, &own.chain, "localhost", version);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // the end is told by TLS, so that nobody on the way can cut an answer short
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"over-tls\""), "{answer}");
        assert_eq!(stream.conn.protocol_version(), Some(spoken));
    }

    // one that knows another certificate, or asks for another name, does not speak with it
    let other = certificate("other");
    for (chain, name) in [(&other.chain, "localhost"), (&own.chain, "example.org")] {
        let mut stream = client(address, chain, name, &TLS13);
        let refused = stream.write_all(request.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("certificate"), "{refused}");
    }

    // who speaks plainly gets no answer, and neither keeps the service from the next one
    let mut plain = TcpStream::connect(address).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    plain.write_all(request.as_bytes()).unwrap();
    let mut said = Vec::new();
    let _closed = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
    let mut stream = client(address, &own.chain, "localhost", &TLS13);
    stream.write_all(request.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
}

#[test]
fn files_that_hold_no_certificate_are_told_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (certificate("own"), certificate("other"));
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let garbled = "-----BEGIN CERTIFICATE-----\nbm8gY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n";
    let cases = [
        // there is no such file; nothing in it; the files of each other; another's key; a certificate that is none
        (folder.path().join("missing.pem"), own.key.clone(), "missing.pem"),
        (own.chain.clone(), folder.path().join("no-key.pem"), "no-key.pem"),
        (file("empty.pem", ""), own.key.clone(), "empty.pem"),
        (own.key.clone(), own.chain.clone(), "own.key.pem"),
        (own.chain.clone(), own.chain.clone(), "own.chain.pem"),
        (own.chain.clone(), other.key.clone(), "own.chain.pem"),
        (file("garbled.pem", garbled), own.key.clone(), "garbled.pem"),
    ];
    for (chain, key, named) in cases {
        let told = serve(&service(), &listen(Certificate { chain, key }), |_| panic!("it listens: {named}"));
        let error = told.unwrap_err();
        assert!(matches!(error, ServeError::Tls(_)), "{error}");
        assert!(error.to_string().contains(named) && error.hint().is_some(), "{error}");
    }
}
