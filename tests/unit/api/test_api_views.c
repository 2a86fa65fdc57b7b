/* Where the vSphere Client shows a virtual machine. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "views.h"

#define ID "6f1c9a2e-3b57-4d0a-9c11-0a1b2c3d4e5f"
#define PATH "/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:"

static void expect_url(const struct vcenter *vc, const char *moref, const char *wanted) {
    char *url = view_vm_client_url(vc, moref);
    if (wanted)
        assert_string_equal(url, wanted);
    else
        assert_null(url);
    free(url);
}

static void addresses(void **state) {
    char id[] = ID, name[] = "vc.example.com", ip4[] = "10.0.0.5", ip6[] = "2001:db8::5";
    (void)state;
    expect_url(&(struct vcenter){.id = id, .address = name, .port = 443}, "vm-7",
               "https://vc.example.com" PATH "vm-7:" ID "/summary");
    expect_url(&(struct vcenter){.id = id, .address = ip4, .port = 8443}, "vm-7",
               "https://10.0.0.5:8443" PATH "vm-7:" ID "/summary");
    expect_url(&(struct vcenter){.id = id, .address = ip6, .port = 443}, "vm-7",
               "https://[2001:db8::5]" PATH "vm-7:" ID "/summary");
}

/* What vCenter calls a machine leads nowhere else. */
static void odd_texts(void **state) {
    char id[] = ID, name[] = "vc.example.com", odd[] = "a/b@evil.example";
    (void)state;
    expect_url(&(struct vcenter){.id = id, .address = name, .port = 443}, "../x?y#z%2f\xc3\xa9 \"",
               "https://vc.example.com" PATH "..%2Fx%3Fy%23z%252f%C3%A9%20%22:" ID "/summary");
    expect_url(&(struct vcenter){.id = id, .address = odd, .port = 443}, "vm-7",
               "https://a%2Fb%40evil.example" PATH "vm-7:" ID "/summary");
}

static void nobody_knows(void **state) {
    char id[] = ID, name[] = "vc.example.com", none[] = "";
    (void)state;
    expect_url(NULL, "vm-7", NULL);
    expect_url(&(struct vcenter){.id = id, .address = name, .port = 443}, NULL, NULL);
    expect_url(&(struct vcenter){.id = id, .address = name, .port = 443}, "", NULL);
    expect_url(&(struct vcenter){.id = id, .address = none, .port = 443}, "vm-7", NULL);
    expect_url(&(struct vcenter){.address = name, .port = 443}, "vm-7", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(nobody_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
