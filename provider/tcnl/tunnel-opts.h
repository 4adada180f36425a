/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_TUNNEL_OPTS_H
#define TCNL_TUNNEL_OPTS_H 1

/* Options of a tunnel header, as filters match them and act_tunnel_key sets
 * them: both have them in the same nested attributes.  An option of Geneve is
 * kept as it is in the packet: class (2 bytes), type, length of the data in
 * units of 4 bytes (the low 5 bits), data. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "buffer.h"

#define TCNL_MAX_GENEVE 252     /* Bytes of options, of 255 in the kernel. */
#define TCNL_GENEVE_LEN_MASK 0x1f

/* What the kernel knows of the flags and the id of a VXLAN group policy. */
#define TCNL_GBP_MASK 0x48ffffu

struct tcnl_tunnel_opts {
    bool has_gbp;
    uint8_t geneve_len;         /* 0: no such options. */
    uint32_t gbp;               /* Flags << 16 | id, host order. */
    uint8_t geneve[TCNL_MAX_GENEVE];
};

/* Bytes of the option at 'opt', header included. */
static inline unsigned int
tcnl_geneve_option_size(const uint8_t *opt)
{
    return 4 + 4u * (opt[3] & TCNL_GENEVE_LEN_MASK);
}

/* Are these 'len' bytes whole options, each with data, as the kernel wants
 * them? */
bool tcnl_geneve_is_valid(const uint8_t *opts, unsigned int len);

/* Puts attribute 'type' with a group policy, and with options of Geneve.
 * 'layout' are options whose lengths apply to 'opts', which may be the same or
 * a mask of them. */
void tcnl_gbp_put(struct tcnl_buffer *, uint16_t type, uint32_t gbp);
void tcnl_geneve_put(struct tcnl_buffer *, uint16_t type,
                     const uint8_t *layout, const uint8_t *opts,
                     unsigned int len);

/* Reads what one of them put, or the kernel has in its place (all options of
 * Geneve in one nest).  Returns 0, EBADMSG, or EOPNOTSUPP for options of
 * another kind. */
int tcnl_tunnel_opts_parse(const struct nlattr *, struct tcnl_tunnel_opts *);

#endif /* tcnl/tunnel-opts.h */
