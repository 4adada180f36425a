/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TAP_H
#define TAP_H 1

/* Results in TAP of programs that run on a real kernel (unit tests have
 * cmocka's). */

#include <stdbool.h>

/* Says "ok" or "not ok"; returns 'ok'. */
bool tap_ok(bool ok, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the program: it cannot go on, for this errno value. */
void tap_bail(const char *what, int error) __attribute__((noreturn));

/* Says how many there were; returns the status to exit with. */
int tap_done(void);

/* The number above 0 in environment variable 'name', or 'def'. */
unsigned int tap_env_number(const char *name, unsigned int def);

#endif /* tap.h */
