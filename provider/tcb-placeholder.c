/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-placeholder.h"

#include <errno.h>
#include <linux/pkt_cls.h>

#include "ovs-thread.h"
#include "packets.h"
#include "tcb-offload.h"
#include "tcb-single.h"
#include "util.h"

static const char cookie[TCNL_COOKIE_LEN + 1] = "tc-batch/prio   ";

/* No two hosts have the same, so that nobody can send it on purpose. */
static struct eth_addr
secret_group(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static struct eth_addr address;

    if (ovsthread_once_start(&once)) {
        eth_addr_random(&address);
        address.ea[0] |= 1;
        ovsthread_once_done(&once);
    }
    return address;
}

void
tcb_match_nothing(struct tcnl_flower *flower, uint16_t proto, uint32_t number)
{
    struct eth_addr address = secret_group();

    for (int i = 0; i < 4; i++) {
        address.ea[2 + i] ^= number >> 8 * i;
    }
    tcnl_flower_init(flower);
    tcnl_flower_set(flower, TCNL_KEY_ETH_TYPE, &proto, NULL);
    tcnl_flower_set(flower, TCNL_KEY_ETH_SRC, &address, NULL);
}

int
tcb_placeholder_put(struct tcnl_buffer *b, const struct tcnl_filter_id *id)
{
    struct tcnl_actions actions;
    struct tcnl_flower flower;

    tcb_match_nothing(&flower, id->proto, 0);
    flower.cls_flags = TCA_CLS_FLAGS_SKIP_HW;
    tcnl_actions_init(&actions);
    tcnl_actions_add(&actions, TCNL_ACT_GACT,
                     (uint32_t) TC_ACT_UNSPEC)->cookie = true;
    actions.has_cookie = true;
    memcpy(actions.cookie, cookie, TCNL_COOKIE_LEN);
    return tcnl_filter_put_new(b, id, &flower, &actions,
                               NLM_F_CREATE | NLM_F_EXCL);
}

bool
tcb_is_placeholder(const struct tcnl_filter_id *id,
                   const struct tcnl_filter_counters *counters)
{
    return (id->handle == TCB_PLACEHOLDER_HANDLE && counters->has_cookie
            && !memcmp(counters->cookie, cookie, TCNL_COOKIE_LEN));
}

bool
tcb_placeholder_stands(struct tcb_worker *w, const struct tcnl_filter_id *id)
{
    struct tcb_reading reading;

    tcb_single_get(w->transport, id, &reading);
    return (reading.has_counters
            && tcb_is_placeholder(id, &reading.counters));
}

static int
build_del(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_del(b, id, 0);
}

void
tcb_placeholders_remove(struct tcb_offload *offload,
                        const struct tcnl_filter_id *hook)
{
    struct tcb_worker *w = tcb_worker_get(&offload->workers);
    struct tcnl_filter_id *ids;
    size_t n = tcb_protos_release(&offload->protos, hook, &ids);

    for (size_t i = 0; w && i < n; i++) {
        ids[i].handle = TCB_PLACEHOLDER_HANDLE;
        if (tcb_placeholder_stands(w, &ids[i])) {
            tcnl_transact(w->transport, build_del, &ids[i], NULL, NULL, NULL);
        }
    }
    free(ids);
    if (w) {
        tcb_worker_put(&offload->workers, w, NULL);
    }
}
