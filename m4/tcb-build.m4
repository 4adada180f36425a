dnl SPDX-License-Identifier: Apache-2.0

dnl TCB_SWITCH(NAME, HELP, DEFAULT)
dnl -------------------------------
dnl An --enable-NAME switch that is "yes" or "no" in $enable_NAME afterwards;
dnl anything else is an error instead of a guess.
AC_DEFUN([TCB_SWITCH],
  [AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])],
     [AS_CASE([$enableval], [yes|no], [],
        [AC_MSG_ERROR([bad value $enableval for --enable-$1])])],
     [enable_$1=$3])])

dnl TCB_CFLAG(VARIABLE, FLAG)
dnl -------------------------
dnl Adds FLAG to VARIABLE if the compiler knows it.
AC_DEFUN([TCB_CFLAG],
  [AC_MSG_CHECKING([whether $CC knows $2])
   tcb_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS -Werror $2"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
     [AC_MSG_RESULT([yes])
      $1="$$1 $2"],
     [AC_MSG_RESULT([no])])
   CFLAGS=$tcb_save_CFLAGS])

dnl TCB_SANITIZERS
dnl --------------
dnl Sets SAN_CFLAGS, which is used for compiling and linking alike.  A finding
dnl ends the program, so that no test can pass with one.  The fuzzers are
dnl built with the address and undefined behaviour sanitizers, as most of what
dnl they find shows only there.
AC_DEFUN([TCB_SANITIZERS],
  [TCB_SWITCH([asan], [find memory errors and leaks], [no])
   TCB_SWITCH([ubsan], [find undefined behaviour], [no])
   TCB_SWITCH([tsan], [find data races], [no])
   TCB_SWITCH([fuzz], [build fuzzers with libFuzzer, needs CC=clang], [no])
   if test $enable_fuzz = yes; then
      enable_asan=yes
      enable_ubsan=yes
   fi
   if test $enable_tsan = yes && test $enable_asan = yes; then
      AC_MSG_ERROR([--enable-tsan excludes --enable-asan and --enable-fuzz])
   fi

   SAN_CFLAGS=
   tcb_san=
   test $enable_asan = no || tcb_san="$tcb_san,address"
   test $enable_ubsan = no || tcb_san="$tcb_san,undefined"
   test $enable_tsan = no || tcb_san="$tcb_san,thread"
   if test -n "$tcb_san"; then
      SAN_CFLAGS="-fsanitize=${tcb_san#,} -fno-sanitize-recover=all"
      SAN_CFLAGS="$SAN_CFLAGS -fno-omit-frame-pointer"
      AC_MSG_CHECKING([whether $CC can link with $SAN_CFLAGS])
      tcb_save_CFLAGS=$CFLAGS
      CFLAGS="$CFLAGS $SAN_CFLAGS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([the compiler has no such sanitizer])])
      CFLAGS=$tcb_save_CFLAGS
   fi

   dnl OVS is built with the sanitizers too, but not for libFuzzer.
   OVS_SAN_CFLAGS=$SAN_CFLAGS
   if test $enable_fuzz = yes; then
      AC_MSG_CHECKING([whether $CC has libFuzzer])
      tcb_save_CFLAGS=$CFLAGS
      CFLAGS="$CFLAGS -fsanitize=fuzzer"
      AC_LINK_IFELSE([AC_LANG_SOURCE([[
         int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long);
         int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n)
         { return 0 * (n && p[0]); }]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([--enable-fuzz needs CC=clang and libFuzzer])])
      CFLAGS=$tcb_save_CFLAGS
      SAN_CFLAGS="$SAN_CFLAGS -fsanitize=fuzzer-no-link"
   fi
   AC_SUBST([SAN_CFLAGS])
   AC_SUBST([OVS_SAN_CFLAGS])
   AM_CONDITIONAL([ENABLE_FUZZ], [test $enable_fuzz = yes])])

dnl TCB_WITH_OVS
dnl ------------
dnl Finds out whether there are patches for the Open vSwitch that was given.
AC_DEFUN([TCB_WITH_OVS],
  [AC_ARG_WITH([ovs],
     [AS_HELP_STRING([--with-ovs=SOURCE],
        [also build Open vSwitch with the provider, from a copy of this
         source directory or tarball])],
     [], [with_ovs=no])
   AC_ARG_WITH([ovs-configure],
     [AS_HELP_STRING([--with-ovs-configure=ARGS],
        [more arguments for the configure script of Open vSwitch])],
     [OVS_CONFIGURE_ARGS=$withval], [OVS_CONFIGURE_ARGS=])
   OVS_SOURCE=
   AS_CASE([$with_ovs],
     [no], [],
     [yes], [AC_MSG_ERROR([--with-ovs needs a source directory or tarball])],
     [AC_MSG_CHECKING([for patches for the Open vSwitch in $with_ovs])
      tcb_series=`"$srcdir/ovs-patches/apply.sh" --series "$with_ovs" 2>&1`
      if test $? != 0; then
         AC_MSG_RESULT([none])
         AC_MSG_ERROR([$tcb_series])
      fi
      AC_MSG_RESULT([series $tcb_series])
      AS_CASE([$with_ovs], [/*], [OVS_SOURCE=$with_ovs],
        [OVS_SOURCE=`pwd`/$with_ovs])])
   AC_SUBST([OVS_SOURCE])
   AC_SUBST([OVS_CONFIGURE_ARGS])
   AM_CONDITIONAL([WITH_OVS], [test -n "$OVS_SOURCE"])])
