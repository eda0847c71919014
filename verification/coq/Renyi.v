(* The Renyi divergence of order a is at most rho when the integral of p^a q^(1-a) is at most exp((a-1) rho). Such
   bounds add up over adaptive releases, and each gives an (eps, delta) by two formulas, of which the second is never
   worse. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Import Integral HockeyStick Profiles Composition.
Import ListNotations.
Open Scope R_scope.

Definition power_term (a p q : R) : R := Rpower p a * Rpower q (1 - a).

Definition moment {X} (I : integral X) (a : R) (p q : X -> R) : R := int I (fun x => power_term a (p x) (q x)).

(* exp (a t) is above its tangent in exp t: Bernoulli's inequality for real exponents. *)
Lemma bernoulli a t : 1 < a -> 1 - a + a * exp t <= exp (a * t).
Proof.
  intro Ha. pose proof (exp_pos t) as Ht.
  pose proof (exp_ineq1_le (a * t - t)) as H1. pose proof (exp_ineq1_le (- t)) as H2.
  assert (E1 : exp (a * t) = exp t * exp (a * t - t)) by (rewrite <- exp_plus; f_equal; ring).
  assert (E2 : 1 = exp t * exp (- t)) by (rewrite <- exp_plus, Rplus_opp_r, exp_0; reflexivity).
  apply (Rmult_le_compat_l (exp t)) in H1; [ | lra ]. apply (Rmult_le_compat_l (exp t)) in H2; [ | lra ].
  rewrite <- E1 in H1. rewrite <- E2 in H2. nra.
Qed.

(** Settles: PROPOSITION-1. The pointwise inequality behind both conversions. *)
Theorem hockey_below_power :
  forall a y p q : R, 1 < a -> 0 < y -> 0 < p -> 0 < q ->
  pos (p - y * q) <= Rpower y (1 - a) * (/ a * Rpower (1 - / a) (a - 1)) * (Rpower p a * Rpower q (1 - a)).
Proof.
  intros a y p q Ha Hy Hp Hq.
  assert (Hr : 0 < 1 - / a) by (pose proof (Rinv_1_lt_contravar 1 a); rewrite Rinv_1 in *; lra).
  set (r := 1 - / a) in *. set (t := ln p - ln q - ln y + ln r).
  assert (E : Rpower y (1 - a) * (/ a * Rpower r (a - 1)) * (Rpower p a * Rpower q (1 - a))
    = y * q / (a - 1) * exp (a * t)).
  { unfold Rpower.
    replace (exp ((1 - a) * ln y) * (/ a * exp ((a - 1) * ln r)) * (exp (a * ln p) * exp ((1 - a) * ln q)))
      with (/ a * (exp ((1 - a) * ln y) * exp ((a - 1) * ln r) * exp (a * ln p) * exp ((1 - a) * ln q))) by ring.
    rewrite <- !exp_plus.
    replace ((1 - a) * ln y + (a - 1) * ln r + a * ln p + (1 - a) * ln q) with (a * t + ln y + ln q + - ln r)
      by (unfold t; ring).
    rewrite !exp_plus, exp_Ropp, !exp_ln by assumption. unfold r in *. field. repeat split; lra. }
  assert (Ep : p = y * q * (a / (a - 1)) * exp t).
  { unfold t. replace (ln p - ln q - ln y + ln r) with (ln p + - ln q + - ln y + ln r) by ring.
    rewrite !exp_plus, !exp_Ropp, !exp_ln by assumption. unfold r. field. repeat split; lra. }
  rewrite E. pose proof (bernoulli a t Ha) as B. pose proof (exp_pos (a * t)).
  assert (Hyq : 0 < y * q) by now apply Rmult_lt_0_compat.
  assert (Hk : 0 < y * q / (a - 1)) by (apply Rdiv_lt_0_compat; lra).
  apply pos_least; [ left; now apply Rmult_lt_0_compat | ].
  apply (Rmult_le_compat_l (y * q / (a - 1))) in B; [ | lra ].
  eapply Rle_trans; [ | exact B ]. right. rewrite Ep at 1. field; lra.
Qed.

Lemma pow_factor_below_1 a : 1 < a -> 0 < / a * Rpower (1 - / a) (a - 1) <= 1.
Proof.
  intro Ha. assert (0 < / a < 1) by (split; [ apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1;
    apply Rinv_1_lt_contravar; lra ]).
  assert (Hp : 0 < Rpower (1 - / a) (a - 1)) by apply exp_pos. split; [ apply Rmult_lt_0_compat; lra | ].
  assert (Rpower (1 - / a) (a - 1) <= 1).
  { unfold Rpower. apply Rle_trans with (exp 0); [ | rewrite exp_0; lra ].
    assert (ln (1 - / a) <= 0) by (rewrite <- ln_1; left; apply ln_increasing; lra).
    destruct (Rle_lt_or_eq_dec ((a - 1) * ln (1 - / a)) 0) as [ L | -> ]; [ nra | left; now apply exp_increasing |
      lra ]. }
  nra.
Qed.

(** Settles: PROPOSITION-1. From order a and rho to delta at every eps (Canonne, Kamath and Steinke; Balle et al.). *)
Theorem renyi_to_delta :
  forall {X : Type} (I : integral X) (a rho eps : R) (p q : X -> R),
  1 < a -> (forall x, 0 < p x /\ 0 < q x) -> intg I p -> intg I q ->
  intg I (fun x => power_term a (p x) (q x)) -> moment I a p q <= exp ((a - 1) * rho) ->
  hockey I (exp eps) p q <= exp ((a - 1) * (rho - eps)) * (/ a * Rpower (1 - / a) (a - 1)).
Proof.
  intros X I a rho eps p q Ha Hpos Hp Hq Hm M. set (k := / a * Rpower (1 - / a) (a - 1)).
  destruct (pow_factor_below_1 a Ha) as (Hk & _). fold k in Hk.
  apply Rle_trans with (int I (fun x => Rpower (exp eps) (1 - a) * k * power_term a (p x) (q x))).
  - apply int_le; [ now apply intg_hockey | now apply intg_scal | ].
    intro x. apply hockey_below_power; try apply Hpos; auto using exp_pos.
  - rewrite int_scal by assumption. fold (moment I a p q).
    replace (exp ((a - 1) * (rho - eps)) * k) with (Rpower (exp eps) (1 - a) * k * exp ((a - 1) * rho)).
    + apply Rmult_le_compat_l; [ | assumption ]. left; apply Rmult_lt_0_compat; [ apply exp_pos | assumption ].
    + unfold Rpower. rewrite ln_exp. replace ((a - 1) * (rho - eps)) with ((1 - a) * eps + (a - 1) * rho) by ring.
      rewrite exp_plus. ring.
Qed.

(* The arithmetic of the two formulas for eps. *)
Lemma improved_delta a rho delta : 1 < a -> 0 < delta ->
  exp ((a - 1) * (rho - (rho + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1))))
  * (/ a * Rpower (1 - / a) (a - 1)) = delta.
Proof.
  intros Ha Hd. assert (0 < (a - 1) / a) by (apply Rdiv_lt_0_compat; lra).
  replace (1 - / a) with ((a - 1) / a) by (field; lra). unfold Rpower.
  replace ((a - 1) * (rho - (rho + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1))))
    with (- ((a - 1) * ln ((a - 1) / a)) + ln delta + ln a) by (field; lra).
  rewrite !exp_plus, exp_Ropp, !exp_ln by lra. field. split; [ lra | apply Rgt_not_eq, exp_pos ].
Qed.

Lemma printed_delta a rho delta : 1 < a -> 0 < delta ->
  exp ((a - 1) * (rho - (rho + ln (1 / delta) / (a - 1)))) * (/ a * Rpower (1 - / a) (a - 1)) <= delta.
Proof.
  intros Ha Hd. replace ((a - 1) * (rho - (rho + ln (1 / delta) / (a - 1)))) with (- ln (1 / delta)) by (field; lra).
  rewrite exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; lra). replace (/ (1 / delta)) with delta by (field; lra).
  rewrite <- (Rmult_1_r delta) at 2. apply Rmult_le_compat_l; [ lra | now apply pow_factor_below_1 ].
Qed.

(** Settles: PROPOSITION-1. The improved conversion: eps = rho + ln((a-1)/a) - (ln delta + ln a)/(a-1). *)
Theorem renyi_conversion_improved :
  forall {X : Type} (I : integral X) (a rho delta : R) (p q : X -> R),
  1 < a -> 0 < delta -> (forall x, 0 < p x /\ 0 < q x) -> intg I p -> intg I q ->
  intg I (fun x => power_term a (p x) (q x)) -> moment I a p q <= exp ((a - 1) * rho) ->
  hockey I (exp (rho + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1))) p q <= delta.
Proof.
  intros X I a rho delta p q Ha Hd Hpos Hp Hq Hm M.
  rewrite <- (improved_delta a rho delta) at 2 by assumption. now apply renyi_to_delta.
Qed.

(** Settles: PROPOSITION-1. The printed conversion (Mironov): eps = rho + ln(1/delta)/(a-1). *)
Theorem renyi_conversion_printed :
  forall {X : Type} (I : integral X) (a rho delta : R) (p q : X -> R),
  1 < a -> 0 < delta -> (forall x, 0 < p x /\ 0 < q x) -> intg I p -> intg I q ->
  intg I (fun x => power_term a (p x) (q x)) -> moment I a p q <= exp ((a - 1) * rho) ->
  hockey I (exp (rho + ln (1 / delta) / (a - 1))) p q <= delta.
Proof.
  intros X I a rho delta p q Ha Hd Hpos Hp Hq Hm M.
  eapply Rle_trans; [ apply (renyi_to_delta I a rho); eassumption | now apply printed_delta ].
Qed.

(** Settles: PROPOSITION-1. The improved eps is never larger than the printed one. *)
Theorem improved_conversion_never_worse :
  forall a rho delta : R, 1 < a -> 0 < delta ->
  rho + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1) < rho + ln (1 / delta) / (a - 1).
Proof.
  intros a rho delta Ha Hd.
  replace (1 / delta) with (/ delta) by (field; lra). rewrite ln_Rinv by assumption.
  assert (0 < ln a) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (ln ((a - 1) / a) < 0).
  { rewrite <- ln_1; apply ln_increasing; [ apply Rdiv_lt_0_compat; lra | ].
    apply Rmult_lt_reg_r with a; [ lra | ]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (0 < ln a / (a - 1)) by (apply Rdiv_lt_0_compat; lra).
  replace ((ln delta + ln a) / (a - 1)) with (ln delta / (a - 1) + ln a / (a - 1)) by (field; lra).
  replace (- ln delta / (a - 1)) with (- (ln delta / (a - 1))) by (field; lra). lra.
Qed.

Lemma joint_pos {X} (p : list X -> X -> R) h : (forall h x, 0 < p h x) -> 0 < joint p h.
Proof. intro H; induction h; simpl; [ lra | now apply Rmult_lt_0_compat ]. Qed.

Lemma power_term_cons {X} a (p q : list X -> X -> R) x h : (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  power_term a (joint p (x :: h)) (joint q (x :: h))
  = power_term a (joint p h) (joint q h) * power_term a (p h x) (q h x).
Proof.
  intros Hp Hq. unfold power_term; simpl.
  rewrite <- !Rpower_mult_distr by auto using joint_pos. ring.
Qed.

(** Settles: LEMMA-3. Renyi bounds of adaptive releases add at each order: if step i has rho i whatever
    the past, T steps have rho 0 + ... + rho (T-1). *)
Theorem renyi_adaptive_composition :
  forall {X : Type} (I : integral X) (T : nat) (a : R) (p q : list X -> X -> R) (rho : nat -> R),
  (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  (forall h, intg I (fun x => power_term a (p h x) (q h x))) ->
  sections I T (fun h => power_term a (joint p h) (joint q h)) ->
  (forall h, (length h < T)%nat -> moment I a (p h) (q h) <= exp ((a - 1) * rho (length h))) ->
  iterated I T [] (fun h => power_term a (joint p h) (joint q h)) <= exp ((a - 1) * lsum rho (seq 0 T)).
Proof.
  intros X I T a p q rho Hp Hq Hm Sec M.
  set (f := fun h => power_term a (joint p h) (joint q h)).
  assert (Hf : forall h, 0 < f h) by (intro; apply Rmult_lt_0_compat; apply exp_pos).
  assert (Main : forall k h, (length h + k = T)%nat ->
    iterated I k h f <= f h * exp ((a - 1) * lsum rho (seq (length h) k))).
  { induction k as [ | k IH ]; intros h Hk.
    - simpl. rewrite Rmult_0_r, exp_0, Rmult_1_r. apply Rle_refl.
    - simpl iterated. set (B := exp ((a - 1) * lsum rho (seq (S (length h)) k))).
      apply Rle_trans with (int I (fun x => f h * B * power_term a (p h x) (q h x))).
      + apply int_le; [ now apply Sec | now apply intg_scal | ]. intro x.
        eapply Rle_trans; [ apply IH; simpl; lia | ]. simpl length. fold B.
        unfold f at 1. rewrite power_term_cons by assumption. fold (f h). right; ring.
      + rewrite int_scal by apply Hm. fold (moment I a (p h) (q h)).
        simpl seq. simpl lsum. rewrite Rmult_plus_distr_l, exp_plus. fold B.
        assert (0 < f h * B) by (apply Rmult_lt_0_compat; [ apply Hf | apply exp_pos ]).
        pose proof (Rmult_le_compat_l (f h * B) _ _ ltac:(lra) (M h ltac:(lia))). lra. }
  eapply Rle_trans; [ apply (Main T []); reflexivity | ]. simpl length.
  right. unfold f, power_term, joint. unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring.
Qed.

(** Settles: LEMMA-3. With equality when every step attains its bound whatever the past. *)
Theorem renyi_additive :
  forall {X : Type} (I : integral X) (T : nat) (a : R) (p q : list X -> X -> R) (rho : nat -> R),
  (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  (forall h, intg I (fun x => power_term a (p h x) (q h x))) ->
  sections I T (fun h => power_term a (joint p h) (joint q h)) ->
  (forall h, (length h < T)%nat -> moment I a (p h) (q h) = exp ((a - 1) * rho (length h))) ->
  iterated I T [] (fun h => power_term a (joint p h) (joint q h)) = exp ((a - 1) * lsum rho (seq 0 T)).
Proof.
  intros X I T a p q rho Hp Hq Hm Sec M.
  set (f := fun h => power_term a (joint p h) (joint q h)).
  assert (Main : forall k h, (length h + k = T)%nat ->
    iterated I k h f = f h * exp ((a - 1) * lsum rho (seq (length h) k))).
  { induction k as [ | k IH ]; intros h Hk.
    - simpl. rewrite Rmult_0_r, exp_0, Rmult_1_r. reflexivity.
    - simpl iterated. set (B := exp ((a - 1) * lsum rho (seq (S (length h)) k))).
      rewrite (int_ext I _ (fun x => f h * B * power_term a (p h x) (q h x))).
      + rewrite int_scal by apply Hm. fold (moment I a (p h) (q h)). rewrite M by lia.
        simpl seq. simpl lsum. rewrite Rmult_plus_distr_l, exp_plus. fold B. ring.
      + now apply Sec.
      + intro x. rewrite IH by (simpl; lia). simpl length. fold B.
        unfold f at 1. rewrite power_term_cons by assumption. fold (f h). ring. }
  rewrite (Main T []) by reflexivity. simpl length.
  unfold f, power_term, joint. unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring.
Qed.

(** Settles: LEMMA-3, PROPOSITION-1. The whole accounting by Renyi divergences: T adaptive steps of
    order a cost at most delta at either eps, rho being the sum. *)
Theorem renyi_accounting :
  forall {X : Type} (I : integral X) (T : nat) (a delta : R) (p q : list X -> X -> R) (rho : nat -> R),
  1 < a -> 0 < delta -> (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  (forall h, intg I (fun x => power_term a (p h x) (q h x))) ->
  sections I T (fun h => power_term a (joint p h) (joint q h)) ->
  (forall y, sections I T (fun h => pos (joint p h - y * joint q h))) ->
  (forall h, (length h < T)%nat -> moment I a (p h) (q h) <= exp ((a - 1) * rho (length h))) ->
  let total := lsum rho (seq 0 T) in
  composed I T (exp (total + ln (1 / delta) / (a - 1))) p q <= delta /\
  composed I T (exp (total + ln ((a - 1) / a) - (ln delta + ln a) / (a - 1))) p q <= delta.
Proof.
  intros X I T a delta p q rho Ha Hd Hp Hq Hm Sec Secp M total.
  pose proof (renyi_adaptive_composition I T a p q rho Hp Hq Hm Sec M) as R. fold total in R.
  set (k := / a * Rpower (1 - / a) (a - 1)). destruct (pow_factor_below_1 a Ha) as (Hk & _). fold k in Hk.
  assert (Main : forall eps, composed I T (exp eps) p q <= exp ((a - 1) * (total - eps)) * k).
  { intro eps. set (c := Rpower (exp eps) (1 - a) * k).
    assert (Hc : 0 < c) by (apply Rmult_lt_0_compat; [ apply exp_pos | assumption ]).
    eapply Rle_trans.
    - apply (iterated_le I T []); [ apply Secp | apply (sections_lin I T c 0); exact Sec | ]. intro h.
      cbv beta. rewrite Rmult_0_l, Rplus_0_r. apply hockey_below_power; auto using joint_pos, exp_pos.
    - rewrite (iterated_lin I T []) by exact Sec.
      apply (Rmult_le_compat_l c) in R; [ | lra ].
      replace (exp ((a - 1) * (total - eps)) * k) with (c * exp ((a - 1) * total)); [ lra | ].
      unfold c, Rpower. rewrite ln_exp.
      replace ((a - 1) * (total - eps)) with ((1 - a) * eps + (a - 1) * total) by ring.
      rewrite exp_plus. ring. }
  split; (eapply Rle_trans; [ apply Main | ]).
  - now apply printed_delta.
  - right. now apply improved_delta.
Qed.
