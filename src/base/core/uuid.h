/* Random identifiers. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UUID_TEXT_BYTES 37

/* Writes a random (version 4, RFC 9562) UUID in lower case. */
void uuid_new(char out[UUID_TEXT_BYTES]);

/* True for 8-4-4-4-12 hex digits, either case. */
bool uuid_is_valid(const char *text);

/* Writes the UUID (8-4-4-4-12 digits) with the bytes of each of its first three fields in reverse order. SMBIOS stores them reversed (DMTF
 * DSP0134, 7.2.1). vSphere shows the stored order; a guest reverses it or not, depending on the SMBIOS version of its virtual hardware. */
void uuid_turn(const char *uuid, char out[UUID_TEXT_BYTES]);

/* True if the two UUIDs are equal, or are after uuid_turn of one. Case does not count. False for what is no UUID, and NULL. */
bool uuid_is_same_machine(const char *a, const char *b);

/* n random bytes from the kernel; ends the process if the kernel has none, since nothing safe could follow. */
void random_bytes(void *out, size_t n);

/* A random number over all 32 bits, for jitter and the like. Ends the process as random_bytes does. */
uint32_t random_u32(void);
