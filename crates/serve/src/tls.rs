//! The certificate that the service shows.

use std::{path::PathBuf, sync::Arc};

use tokio::net::TcpStream;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
    server::TlsStream,
};

use crate::service::ServeError;

/// Where a certificate is, as PEM files.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The chain, the service's own certificate first.
    pub chain: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Shakes hands.
#[derive(Clone)]
pub(crate) struct Tls {
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Reads a certificate.
    ///
    /// # Errors
    /// [`ServeError::Tls`].
    pub fn read(certificate: &Certificate) -> Result<Tls, ServeError> {
        let Certificate { chain, key } = certificate;
        let wrong =
            |path: &PathBuf, error: &dyn std::fmt::Display| ServeError::Tls(format!("`{}`: {error}", path.display()));
        let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.map_err(|error| wrong(chain, &error))?;
        if certificates.is_empty() {
            return Err(wrong(chain, &"no certificate is in it"));
        }
        let private = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private))
            .map_err(|error| wrong(chain, &error))?;
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Shakes hands with a client.
    pub async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}
