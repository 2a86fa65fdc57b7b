/* From a result to the library's answer. Layer 2 (httpd), private. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

struct http_request;
struct http_response;

/* httpd_answer.c: turns result and response into the library's answer and queues it. */
enum MHD_Result httpd_answer(struct http_request *req);
bool httpd_add_headers(const struct http_response *resp, struct MHD_Response *out);

/* httpd_spare.c: the library's answer for a shared body, with the headers of `resp`, which are used up; lent to the request until it is given
 * back, at the latest when the request is completed. NULL without memory. */
struct MHD_Response *httpd_spare_use(struct http_request *req, struct http_response *resp, bool has_body);
void httpd_spare_give_back(struct http_request *req); /* nothing if none is lent */

/* httpd_again.c; all in the server thread */
bool httpd_again_recognize(struct http_request *req); /* the fields are collected, nothing was looked at; sets match.route */
bool httpd_again_answer(struct http_request *req);    /* false: as if nothing had been done */
void httpd_again_keep(struct http_request *req, const struct http_response *resp); /* the answer is complete */
void httpd_again_drop(struct http_conn *conn);
