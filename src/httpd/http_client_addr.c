/* Who the client is when trusted proxies stand between. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>

#include "http_private.h"
#include "net_addr.h"
#include "str.h"

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void http_addr_format(const uint8_t addr[16], char out[INET6_ADDRSTRLEN]) {
    bool is_v4 = !memcmp(addr, v4_prefix, sizeof(v4_prefix));
    if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? addr + sizeof(v4_prefix) : addr, out, INET6_ADDRSTRLEN))
        out[0] = '\0';
}

bool http_net_parse(const char *text, struct http_net *out) {
    char addr[INET6_ADDRSTRLEN];
    size_t len = strcspn(text, "/");
    bool is_v4 = !memchr(text, ':', len);
    int64_t most = is_v4 ? 32 : 128, bits = most;
    struct http_net net;
    if (len >= sizeof(addr))
        return false;
    memcpy(addr, text, len);
    addr[len] = '\0';
    if (text[len] == '/' && !str_to_i64(text + len + 1, 0, most, &bits))
        return false;
    if (!net_addr_parse(addr, net.addr))
        return false;
    net.bits = (unsigned)bits + (is_v4 ? 96 : 0);
    *out = net;
    return true;
}

static bool net_has(const struct http_net *net, const uint8_t addr[16]) {
    unsigned whole = net->bits / 8, part = net->bits % 8;
    if (memcmp(net->addr, addr, whole))
        return false;
    return !part || !((net->addr[whole] ^ addr[whole]) >> (8 - part));
}

bool http_net_has(const struct http_net *nets, size_t count, const uint8_t addr[16]) {
    for (size_t i = 0; i < count; i++)
        if (net_has(&nets[i], addr))
            return true;
    return false;
}

/* Reads one element ("192.0.2.1", "192.0.2.1:4711", "[2001:db8::1]:80", blanks around). */
static bool parse_element(const char *text, size_t len, uint8_t out[16]) {
    char addr[INET6_ADDRSTRLEN + 8];
    while (len && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    if (!len || len >= sizeof(addr))
        return false;
    memcpy(addr, text, len);
    addr[len] = '\0';
    if (addr[0] == '[') {
        addr[strcspn(addr, "]")] = '\0';
        return net_addr_parse(addr + 1, out);
    }
    char *colon = strchr(addr, ':');
    if (colon && !strchr(colon + 1, ':')) /* one colon: IPv4 with port */
        *colon = '\0';
    return net_addr_parse(addr, out);
}

/* From the right: each trusted proxy vouches for the element before it; the first address that is not a proxy's is the client.
 * An element that is no address ends the walk, since nobody vouches for what stands left of it. */
void http_client_behind(const char *forwarded, const struct http_net *nets, size_t count, char out[INET6_ADDRSTRLEN]) {
    size_t end = strlen(forwarded);
    uint8_t addr[16];
    while (end) {
        size_t start = end;
        while (start && forwarded[start - 1] != ',')
            start--;
        if (!parse_element(forwarded + start, end - start, addr))
            return;
        http_addr_format(addr, out);
        if (!http_net_has(nets, count, addr) || !start)
            return;
        end = start - 1;
    }
}
