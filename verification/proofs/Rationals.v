(** The formulas of [Algorithm.v] on rational numbers, where Coq can compute them, and the proof that every one of
    them has the same value there as on the reals. Tests compare these rational values with the Python reference. *)

From Coq Require Import Reals QArith Qreals Lra Lia.
From DPADMM Require Import Vectors Algorithm.

(** The rational numbers as a number system; [Qred] keeps fractions short. A quotient by 0 is 0, as on the reals. *)
Definition rationals : numbers :=
  Numbers Q (fun n => inject_Z (Z.of_nat n)) (fun a b => Qred (a + b)) (fun a b => Qred (a - b))
    (fun a b => Qred (a * b)) (fun a b => Qred (a / b)) Qopp (fun a b => negb (Qle_bool a b)).

Ltac reveal := cbn [of_nat add sub mul div opp greater rationals reals].

Lemma Q2R_red a : Q2R (Qred a) = Q2R a.
Proof. apply Qeq_eqR, Qred_correct. Qed.

Lemma Q2R_of_nat n : Q2R (of_nat rationals n) = of_nat reals n.
Proof. simpl. unfold Q2R; simpl. rewrite INR_IZR_INZ. field. Qed.

Lemma Q2R_add a b : Q2R (add rationals a b) = add reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_plus. Qed.

Lemma Q2R_sub a b : Q2R (sub rationals a b) = sub reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_minus. Qed.

Lemma Q2R_mul a b : Q2R (mul rationals a b) = mul reals (Q2R a) (Q2R b).
Proof. reveal; rewrite Q2R_red; apply Q2R_mult. Qed.

Lemma Q2R_neg a : Q2R (opp rationals a) = opp reals (Q2R a).
Proof. apply Q2R_opp. Qed.

Lemma Q2R_quotient a b : Q2R (div rationals a b) = div reals (Q2R a) (Q2R b).
Proof.
  reveal; rewrite Q2R_red. destruct (Qeq_dec b 0) as [E|E].
  - rewrite (Qeq_eqR _ _ E), (Qeq_eqR (a / b) 0).
    + unfold Q2R at 1 3; simpl. unfold Rdiv. rewrite Rmult_0_l, Rinv_0. ring.
    + unfold Qdiv. rewrite E. unfold Qinv; simpl. ring.
  - apply Q2R_div, E.
Qed.

Lemma Q2R_greater a b : greater rationals a b = greater reals (Q2R a) (Q2R b).
Proof.
  reveal. unfold real_greater. destruct (Rlt_dec (Q2R b) (Q2R a)) as [H|H].
  - apply Rlt_Qlt in H. apply Bool.negb_true_iff. destruct (Qle_bool a b) eqn:E; [|reflexivity].
    apply Qle_bool_iff in E. exfalso. apply (Qlt_irrefl a). eapply Qle_lt_trans; eauto.
  - apply Rnot_lt_le, Rle_Qle, Qle_bool_iff in H. rewrite H. reflexivity.
Qed.

Lemma Q2R_if (c : bool) (a b : Q) : Q2R (if c then a else b) = if c then Q2R a else Q2R b.
Proof. destruct c; reflexivity. Qed.

Ltac transfer :=
  repeat first
    [ rewrite Q2R_if | rewrite Q2R_quotient | rewrite Q2R_add | rewrite Q2R_sub | rewrite Q2R_mul
    | rewrite Q2R_neg | rewrite Q2R_of_nat | rewrite Q2R_greater ].

(** The proximal maps, the updates and the slope of the loss agree, coordinate by coordinate. *)

Theorem soft_threshold_agrees (w t : Q) :
  Q2R (soft_threshold rationals w t) = soft_threshold reals (Q2R w) (Q2R t).
Proof. unfold soft_threshold, maximum. transfer. reflexivity. Qed.

Theorem prox_l1_agrees (lam w rho : Q) :
  Q2R (prox_l1 rationals lam w rho) = prox_l1 reals (Q2R lam) (Q2R w) (Q2R rho).
Proof. unfold prox_l1. rewrite soft_threshold_agrees. transfer. reflexivity. Qed.

Theorem prox_elastic_net_agrees (lam r w rho : Q) :
  Q2R (prox_elastic_net rationals lam r w rho) = prox_elastic_net reals (Q2R lam) (Q2R r) (Q2R w) (Q2R rho).
Proof. unfold prox_elastic_net. rewrite Q2R_quotient, soft_threshold_agrees. transfer. reflexivity. Qed.

Theorem prox_scad_agrees (lam a w rho : Q) :
  Q2R (prox_scad rationals lam a w rho) = prox_scad reals (Q2R lam) (Q2R a) (Q2R w) (Q2R rho).
Proof.
  unfold prox_scad, absolute, maximum. rewrite !Q2R_if, soft_threshold_agrees. transfer. reflexivity.
Qed.

Theorem prox_mcp_agrees (lam gamma w rho : Q) :
  Q2R (prox_mcp rationals lam gamma w rho) = prox_mcp reals (Q2R lam) (Q2R gamma) (Q2R w) (Q2R rho).
Proof.
  unfold prox_mcp, absolute, maximum. rewrite Q2R_if, Q2R_quotient, soft_threshold_agrees. transfer. reflexivity.
Qed.

Theorem update_x_agrees (g x z y rho eta : Q) :
  Q2R (update_x rationals g x z y rho eta) = update_x reals (Q2R g) (Q2R x) (Q2R z) (Q2R y) (Q2R rho) (Q2R eta).
Proof. unfold update_x. transfer. reflexivity. Qed.

Theorem update_y_agrees (y x z rho : Q) :
  Q2R (update_y rationals y x z rho) = update_y reals (Q2R y) (Q2R x) (Q2R z) (Q2R rho).
Proof. unfold update_y. transfer. reflexivity. Qed.

Theorem huber_slope_agrees (h margin : Q) :
  Q2R (huber_slope rationals h margin) = huber_slope reals (Q2R h) (Q2R margin).
Proof. unfold huber_slope, minimum, maximum. transfer. reflexivity. Qed.

Theorem clipped_slope_agrees (slope norm bound : Q) :
  Q2R (clipped_slope rationals slope norm bound) = clipped_slope reals (Q2R slope) (Q2R norm) (Q2R bound).
Proof. unfold clipped_slope, absolute, maximum. transfer. reflexivity. Qed.

Lemma total_agrees n (f : nat -> Q) (F : nat -> R) :
  (forall i, Q2R (f i) = F i) -> Q2R (total rationals n f) = total reals n F.
Proof.
  intros H. induction n as [|n IH]; cbn [total]; [apply (Q2R_of_nat 0)|].
  rewrite Q2R_add, IH, H. reflexivity.
Qed.

(** A rational vector as a real one. *)
Definition as_real (u : nat -> Q) : nat -> R := fun i => Q2R (u i).
Definition state_as_real (s : state rationals) : state reals :=
  State reals (as_real (state_x _ s)) (as_real (state_z _ s)) (as_real (state_y _ s)).

Theorem gradient_agrees (h : Q) (p n : nat) (data : nat -> nat -> Q) (x : nat -> Q) (i : nat) :
  Q2R (huber_mean_gradient rationals h p n data x i)
  = huber_mean_gradient reals (Q2R h) p n (fun r => as_real (data r)) (as_real x) i.
Proof.
  unfold huber_mean_gradient, mean, huber_gradient. rewrite Q2R_quotient, Q2R_of_nat. f_equal.
  apply total_agrees. intros r. rewrite Q2R_mul, huber_slope_agrees. f_equal. f_equal.
  apply total_agrees. intros j. apply Q2R_mul.
Qed.

(** Both kinds of epoch agree, for every proximal map that agrees and every gradient that agrees. *)
Section Epochs.
Variables (prox : Q -> Q -> Q) (Prox : R -> R -> R).
Variables (gradient : (nat -> Q) -> nat -> Q) (Gradient : (nat -> R) -> nat -> R).
Hypothesis same_prox : forall w rho, Q2R (prox w rho) = Prox (Q2R w) (Q2R rho).
Hypothesis same_gradient : forall x i, Q2R (gradient x i) = Gradient (as_real x) i.

Theorem epoch_all_agrees (rho eta : Q) (noise old : state rationals) (i : nat) :
  let rational := epoch_all rationals prox rho eta gradient noise old in
  let real := epoch_all reals Prox (Q2R rho) (Q2R eta) Gradient (state_as_real noise) (state_as_real old) in
  Q2R (state_x _ rational i) = state_x _ real i /\
  Q2R (state_z _ rational i) = state_z _ real i /\
  Q2R (state_y _ rational i) = state_y _ real i.
Proof.
  cbv zeta. unfold epoch_all, step_x, step_y, update_z. cbn [state_x state_z state_y].
  repeat split; rewrite Q2R_add; f_equal;
    rewrite ?update_y_agrees, ?same_prox, ?Q2R_add, ?Q2R_quotient, ?update_x_agrees, ?same_gradient; reflexivity.
Qed.

Theorem epoch_primal_agrees (rho eta : Q) (noise : nat -> Q) (old : state rationals) (i : nat) :
  let rational := epoch_primal rationals prox rho eta gradient noise old in
  let real := epoch_primal reals Prox (Q2R rho) (Q2R eta) Gradient (as_real noise) (state_as_real old) in
  Q2R (state_x _ rational i) = state_x _ real i /\
  Q2R (state_z _ rational i) = state_z _ real i /\
  Q2R (state_y _ rational i) = state_y _ real i.
Proof.
  cbv zeta. unfold epoch_primal, step_x, step_y, update_z. cbn [state_x state_z state_y].
  repeat split;
    rewrite ?update_y_agrees, ?same_prox, ?Q2R_add, ?Q2R_quotient, ?Q2R_add, ?update_x_agrees, ?same_gradient;
    reflexivity.
Qed.
End Epochs.
