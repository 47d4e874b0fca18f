// SPDX-License-Identifier: Apache-2.0
#include "tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <cstdio>

namespace yolk::chat {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;
using ContextPtr = std::shared_ptr<SSL_CTX>;

class TlsStream final : public chat_server::Stream {
   public:
    explicit TlsStream(SSL* ssl) : ssl_(ssl, &SSL_free) {}
    long read(char* bytes, std::size_t count) override { return SSL_read(ssl_.get(), bytes, static_cast<int>(count)); }
    bool write(std::string_view bytes) override {
        return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
    }

   private:
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

CertificatePtr sign(EVP_PKEY* key) {
    CertificatePtr certificate(X509_new(), &X509_free);
    X509* const x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_set_pubkey(x, key);
    X509_NAME* const name = X509_get_subject_name(x);
    const char* const text = "loopback";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text), -1, -1, 0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION* const address = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(x, address, -1);
    X509_EXTENSION_free(address);
    X509_sign(x, key, EVP_sha256());
    return certificate;
}

}  // namespace

std::function<std::unique_ptr<chat_server::Stream>(int)> self_signed_tls(const std::filesystem::path& certificate) {
    std::signal(SIGPIPE, SIG_IGN);  // the server writes to clients that have left
    const KeyPtr key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    const CertificatePtr x = sign(key.get());
    const ContextPtr context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    std::FILE* const file = std::fopen(certificate.c_str(), "w");
    if (file == nullptr) return {};
    PEM_write_X509(file, x.get());
    std::fclose(file);
    SSL_CTX_use_certificate(context.get(), x.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    return [context](int socket) -> std::unique_ptr<chat_server::Stream> {
        SSL* const ssl = SSL_new(context.get());
        auto stream = std::make_unique<TlsStream>(ssl);
        SSL_set_fd(ssl, socket);
        const bool accepted = SSL_accept(ssl) == 1;
        ERR_clear_error();
        if (!accepted) return nullptr;
        return stream;
    };
}

}  // namespace yolk::chat
