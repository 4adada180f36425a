/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int n_results, n_failed;

bool
tap_ok(bool ok, const char *format, ...)
{
    va_list args;

    printf("%sok %u - ", ok ? "" : "not ", ++n_results);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    n_failed += !ok;
    return ok;
}

void
tap_bail(const char *what, int error)
{
    printf("Bail out! %s: %s\n", what, strerror(error));
    exit(EXIT_FAILURE);
}

int
tap_done(void)
{
    printf("1..%u\n", n_results);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

unsigned int
tap_env_number(const char *name, unsigned int def)
{
    const char *value = getenv(name);
    unsigned long number;
    char *end;

    if (!value || !*value) {
        return def;
    }
    errno = 0;
    number = strtoul(value, &end, 10);
    if (*end || errno || !number || number > UINT_MAX) {
        tap_bail(name, EINVAL);
    }
    return (unsigned int) number;
}
