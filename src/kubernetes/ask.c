/* Single questions to an API server, in JSON. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "names.h"
#include "str.h"
#include "uuid.h"

#define QUESTION_BYTES_MAX (64U * 1024U)

static int ask_take(const struct kube_question *q, long status, const struct strbuf *reply, json_t **answer, struct err *err) {
    struct err why = {0};
    if (q->is_created)
        *q->is_created = status == 201;
    int rc = json_parse(reply->data, reply->len, answer, &why);
    if (!rc)
        return 0;
    (void)err_set(err, ERR_PROTOCOL, "the answer to %s %s is not the JSON of a Kubernetes API: %s", q->method, q->path, why.text);
    return err_remedy(err, "%s", k8s_transport_remedy(ERR_PROTOCOL));
}

int kube_ask(struct k8s_client *client, const struct kube_question *q, json_t **answer, struct err *err) {
    _cleanup_json_ json_t *sent = q->body;
    _cleanup_strbuf_ struct strbuf body, reply;
    long status = 0;
    strbuf_init(&body, QUESTION_BYTES_MAX);
    strbuf_init_secret(&reply, K8S_REPLY_BYTES_MAX); /* it may hold a token */
    *answer = NULL;
    if (sent && json_write(sent, &body, err))
        return err->code;
    const struct k8s_call call = {.method = q->method,
                                  .path = q->path,
                                  .body_type = sent ? q->type : NULL,
                                  .body = sent ? &body : NULL,
                                  .date_ms = q->date_ms};
    int rc = k8s_call(client, &call, &reply, &status, err);
    return rc ? rc : ask_take(q, status, &reply, answer, err);
}

static int ask_refuse(struct err *err, const char *path, const char *member) {
    (void)err_set(err, ERR_PROTOCOL, "the answer to GET %s has no usable %s", path, member);
    return err_remedy(err, "%s", k8s_transport_remedy(ERR_PROTOCOL));
}

static int ask_text(struct k8s_client *client, const char *path, const char *const *members, char **out, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    int rc = kube_ask(client, &(struct kube_question){.method = "GET", .path = path}, &answer, err);
    const json_t *at = answer;
    for (; !rc && members[1]; members++)
        at = json_object_get(at, members[0]);
    const char *text = rc ? NULL : json_get_string(at, members[0]);
    if (rc)
        return rc;
    if (str_empty(text) || strlen(text) > KUBE_TEXT_BYTES_MAX)
        return ask_refuse(err, path, members[0]);
    *out = str_dup(text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int kube_ask_version(struct k8s_client *client, char **version, struct err *err) {
    char *told = NULL;
    int rc = ask_text(client, "/version", (const char *const[]){"gitVersion", NULL}, &told, err);
    if (rc)
        return rc;
    memmove(told, told + (told[0] == 'v'), strlen(told) + (told[0] != 'v'));
    if (!name_check_kubernetes_version(told, NULL)) {
        *version = told;
        return 0;
    }
    free(told);
    return ask_refuse(err, "/version", "gitVersion");
}

int kube_ask_identity(struct k8s_client *client, char **uid, struct err *err) {
    int rc = ask_text(client, "/api/v1/namespaces/kube-system", (const char *const[]){"metadata", "uid", NULL}, uid, err);
    if (rc || uuid_is_valid(*uid))
        return rc;
    free(STEAL(*uid));
    return ask_refuse(err, "/api/v1/namespaces/kube-system", "uid");
}
