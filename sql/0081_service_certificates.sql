-- Client certificates that are pinned to a service account. not_after_ms is 0 until the certificate itself was seen.
CREATE TABLE service_certificates (
    sha256 CHAR(64) NOT NULL,
    service_id CHAR(36) NOT NULL,
    not_after_ms BIGINT NOT NULL,
    PRIMARY KEY (sha256),
    KEY service_certificates_service (service_id),
    CONSTRAINT service_certificates_service FOREIGN KEY (service_id) REFERENCES service_accounts (id) ON DELETE CASCADE
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin;
