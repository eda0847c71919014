(* The profile of two Gaussians in one dimension, with deviation 1 and at distance mu, is that of the normal distribution
   function: tail (ln y / mu - mu / 2) - y tail (ln y / mu + mu / 2). The integral over the line is the limit of Riemann
   integrals over [-b, b]; densities are not normalised, so both sides carry the same factor. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From DPADMM Require Import Integral.
Open Scope R_scope.

Definition bell (x : R) : R := exp (- (x * x) / 2).

Lemma bell_continuous x : continuous bell x.
Proof. apply (ex_derive_continuous (V := R_NormedModule) bell). unfold bell. auto_derive. trivial. Qed.

Lemma bell_intg a b : ex_RInt bell a b.
Proof. apply (ex_RInt_continuous bell). intros; apply bell_continuous. Qed.

Section Profile.
  Context (mu y : R) (Hmu : 0 < mu) (Hy : 0 < y).

  (* Where the two weighted densities cross. *)
  Let cross : R := ln y / mu + mu / 2.
  Let payoff (x : R) : R := bell (x - mu) - y * bell x.

  Lemma payoff_factored x : payoff x = bell x * (exp (mu * (x - cross) + ln y) - y).
  Proof.
    unfold payoff. rewrite Rmult_minus_distr_l, (Rmult_comm y). f_equal. unfold bell. rewrite <- exp_plus. f_equal. unfold cross. field. lra.
  Qed.

  Lemma payoff_sign x : (cross <= x -> 0 <= payoff x) /\ (x <= cross -> payoff x <= 0).
  Proof.
    rewrite payoff_factored. assert (B : 0 < bell x) by apply exp_pos.
    assert (E : exp (mu * (x - cross) + ln y) = exp (mu * (x - cross)) * y) by (rewrite exp_plus, exp_ln by assumption; reflexivity).
    rewrite E. split; intro H.
    - assert (1 <= exp (mu * (x - cross))).
      { rewrite <- exp_0. destruct (Rle_lt_or_eq_dec _ _ H) as [ L | <- ]; [ left; apply exp_increasing; nra | right; f_equal; ring ]. }
      apply Rmult_le_pos; [ lra | nra ].
    - assert (exp (mu * (x - cross)) <= 1).
      { rewrite <- exp_0. destruct (Rle_lt_or_eq_dec _ _ H) as [ L | -> ]; [ left; apply exp_increasing; nra | right; f_equal; ring ]. }
      assert (exp (mu * (x - cross)) * y - y <= 0) by nra. nra.
  Qed.

  Lemma shifted_intg a b : ex_RInt (fun x => bell (x - mu)) a b.
  Proof.
    apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros x _.
    apply (ex_derive_continuous (V := R_NormedModule) (fun x => bell (x - mu))). unfold bell. auto_derive. trivial.
  Qed.

  Lemma shifted_integral a b : RInt (fun x => bell (x - mu)) a b = RInt bell (a - mu) (b - mu).
  Proof.
    pose proof (RInt_comp_lin bell 1 (- mu) a b (bell_intg _ _)) as E. unfold scal in E; simpl in E; unfold mult in E; simpl in E.
    replace (1 * a + - mu) with (a - mu) in E by ring. replace (1 * b + - mu) with (b - mu) in E by ring. rewrite <- E.
    apply RInt_ext. intros x _. rewrite Rmult_1_l. f_equal. ring.
  Qed.

  Lemma within_window b : Rabs cross <= b ->
    RInt (fun x => pos (payoff x)) (- b) b = RInt bell (cross - mu) (b - mu) - y * RInt bell cross b.
  Proof.
    intro Hb. apply Rabs_le_between in Hb.
    assert (Below : is_RInt (fun x => pos (payoff x)) (- b) cross (scal (cross - - b) 0)).
    { apply (is_RInt_ext (fun _ => 0)); [ | apply (is_RInt_const (V := R_NormedModule)) ].
      intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra. symmetry. apply pos_of_nonpos, payoff_sign. lra. }
    assert (Above : is_RInt (fun x => pos (payoff x)) cross b (RInt bell (cross - mu) (b - mu) - y * RInt bell cross b)).
    { apply (is_RInt_ext payoff).
      - intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra. symmetry. apply pos_of_nonneg, payoff_sign. lra.
      - rewrite <- shifted_integral. apply (is_RInt_minus (V := R_NormedModule)).
        + apply (RInt_correct (V := R_CompleteNormedModule)), shifted_intg.
        + apply (is_RInt_scal (V := R_NormedModule)), (RInt_correct (V := R_CompleteNormedModule)), bell_intg. }
    rewrite (is_RInt_unique _ _ _ _ (is_RInt_Chasles _ _ _ _ _ _ Below Above)).
    unfold plus, scal; simpl; unfold mult; simpl. ring.
  Qed.
End Profile.

(** Settles: G. The hockey-stick divergence of two Gaussians in one dimension, as the limit over growing windows, in terms of
    the tails of the normal density. *)
Theorem gaussian_profile :
  forall (mu y : R) (tail : R -> R), 0 < mu -> 0 < y ->
  (forall x, is_lim (fun b => RInt bell x b) p_infty (tail x)) ->
  is_lim (fun b => RInt (fun x => pos (bell (x - mu) - y * bell x)) (- b) b) p_infty
    (tail (ln y / mu - mu / 2) - y * tail (ln y / mu + mu / 2)).
Proof.
  intros mu y tail Hmu Hy Tail. set (cross := ln y / mu + mu / 2).
  replace (ln y / mu - mu / 2) with (cross - mu) by (unfold cross; field; lra).
  apply is_lim_ext_loc with (fun b => RInt bell (cross - mu) (b - mu) - y * RInt bell cross b).
  - exists (Rabs cross). intros b Hb. symmetry. apply (within_window mu y Hmu Hy). fold cross. lra.
  - apply (is_lim_minus' _ _ p_infty (tail (cross - mu)) (y * tail cross)).
    + apply (is_lim_comp (fun b => RInt bell (cross - mu) b) (fun b => b - mu) p_infty (tail (cross - mu)) p_infty (Tail _)).
      * apply (is_lim_minus (fun b => b) (fun _ => mu) p_infty p_infty mu p_infty); [ apply is_lim_id | apply is_lim_const | reflexivity ].
      * exists 0. intros b _. discriminate.
    + apply (is_lim_scal_l (fun b => RInt bell cross b) y p_infty (tail cross) (Tail _)).
Qed.
