(* The hockey-stick divergence H_y(p||q) = integral of (p - y q)_+ is the delta that belongs to eps = ln y.
   It is jointly convex, falls under post-processing, and is exactly the largest advantage that any test has. *)

From Coq Require Import Reals Lra List.
From DPADMM Require Import Integral.
Import ListNotations.
Open Scope R_scope.

Definition hockey {X} (I : integral X) (y : R) (p q : X -> R) : R := int I (fun x => pos (p x - y * q x)).

Lemma intg_hockey {X} (I : integral X) y p q :
  intg I p -> intg I q -> intg I (fun x => pos (p x - y * q x)).
Proof.
  intros Hp Hq. apply intg_pos. eapply intg_ext; [ | exact (intg_lin _ I 1 (- y) p q Hp Hq) ].
  intro x; cbv beta; lra.
Qed.

Lemma hockey_nonneg {X} (I : integral X) y p q : intg I p -> intg I q -> 0 <= hockey I y p q.
Proof. intros; apply int_nonneg; [ now apply intg_hockey | intro; apply pos_nonneg ]. Qed.

(** Settles: HOCKEY-STICK. The divergence of two mixtures is at most the mixture of the divergences:
    randomness that is the same under both data sets may be revealed in the analysis. *)
Theorem hockey_jointly_convex :
  forall {X A : Type} (I : integral X) (y : R) (w : A -> R) (p q : A -> X -> R) (l : list A),
  (forall a, In a l -> 0 <= w a /\ intg I (p a) /\ intg I (q a)) ->
  hockey I y (fun x => lsum (fun a => w a * p a x) l) (fun x => lsum (fun a => w a * q a x) l)
  <= lsum (fun a => w a * hockey I y (p a) (q a)) l.
Proof.
  intros X A I y w p q l H.
  assert (Hp : forall a, In a l -> intg I (fun x => w a * p a x)) by (intros; apply intg_scal; now apply H).
  assert (Hq : forall a, In a l -> intg I (fun x => w a * q a x)) by (intros; apply intg_scal; now apply H).
  assert (Hh : forall a, In a l -> intg I (fun x => w a * pos (p a x - y * q a x)))
    by (intros; apply intg_scal, intg_hockey; now apply H).
  apply Rle_trans with (int I (fun x => lsum (fun a => w a * pos (p a x - y * q a x)) l)).
  - apply int_le.
    + apply intg_hockey; apply (intg_sum I (fun a x => w a * _ a x)); assumption.
    + apply (intg_sum I (fun a x => w a * pos (p a x - y * q a x))); assumption.
    + intro x. clear Hp Hq Hh. induction l as [ | a l IH ]; simpl.
      * rewrite Rmult_0_r, Rminus_0_r, pos_of_nonneg; lra.
      * replace (_ - _) with (w a * (p a x - y * q a x)
          + (lsum (fun a => w a * p a x) l - y * lsum (fun a => w a * q a x) l)) by ring.
        eapply Rle_trans; [ apply pos_add | ].
        rewrite pos_scale by (apply H; now left).
        apply Rplus_le_compat_l, IH; intros; apply H; now right.
  - rewrite (int_sum I (fun a x => w a * pos (p a x - y * q a x))) by assumption.
    apply lsum_le; intros a Ha. rewrite int_scal; [ apply Rle_refl | ]. apply intg_hockey; now apply H.
Qed.

(** Settles: HOCKEY-STICK, TESTS. No test, at random or not, has a larger advantage P(phi) - y Q(phi). *)
Theorem hockey_bounds_every_test :
  forall {X : Type} (I : integral X) (y : R) (p q phi : X -> R),
  (forall x, 0 <= phi x <= 1) -> intg I p -> intg I q ->
  intg I (fun x => p x * phi x) -> intg I (fun x => q x * phi x) ->
  int I (fun x => p x * phi x) - y * int I (fun x => q x * phi x) <= hockey I y p q.
Proof.
  intros X I y p q phi Hphi Hp Hq Hpp Hqq.
  replace (_ - _) with (1 * int I (fun x => p x * phi x) + - y * int I (fun x => q x * phi x)) by ring.
  rewrite <- (int_lin _ I 1 (- y)) by assumption.
  apply int_le; [ now apply intg_lin | now apply intg_hockey | ].
  intro x; cbv beta. pose proof (Hphi x). pose proof (pos_nonneg (p x - y * q x)). pose proof (pos_ge (p x - y * q x)).
  replace (1 * _ + _) with (phi x * (p x - y * q x)) by ring.
  apply Rle_trans with (phi x * pos (p x - y * q x)); [ apply Rmult_le_compat_l; lra | ].
  rewrite <- (Rmult_1_l (pos _)) at 2. apply Rmult_le_compat_r; lra.
Qed.

(** Settles: HOCKEY-STICK, TESTS. The likelihood-ratio test attains it. *)
Theorem hockey_attained_by_likelihood_ratio :
  forall {X : Type} (I : integral X) (y : R) (p q : X -> R),
  let phi := fun x => if Rlt_dec (y * q x) (p x) then 1 else 0 in
  intg I p -> intg I q -> intg I (fun x => p x * phi x) -> intg I (fun x => q x * phi x) ->
  int I (fun x => p x * phi x) - y * int I (fun x => q x * phi x) = hockey I y p q.
Proof.
  intros X I y p q phi Hp Hq Hpp Hqq.
  replace (_ - _) with (1 * int I (fun x => p x * phi x) + - y * int I (fun x => q x * phi x)) by ring.
  rewrite <- (int_lin _ I 1 (- y)) by assumption.
  apply int_ext; [ now apply intg_lin | ]. intro x; unfold phi.
  destruct (Rlt_dec (y * q x) (p x)); [ rewrite pos_of_nonneg | rewrite pos_of_nonpos ]; lra.
Qed.

(* A density p' of what is computed from a release of density p: every test phi of it is a test k phi of the release. For a
   function f of the release, k phi is phi after f; a random computation averages. *)
Definition processed {X X'} (I : integral X) (I' : integral X') (k : (X' -> R) -> X -> R) (p : X -> R) (p' : X' -> R) : Prop :=
  forall phi : X' -> R, (forall x', 0 <= phi x' <= 1) -> intg I' (fun x' => p' x' * phi x') ->
  intg I (fun x => p x * k phi x) /\ int I' (fun x' => p' x' * phi x') = int I (fun x => p x * k phi x).

(** Settles: HOCKEY-STICK, P. Whatever is computed from a release, at random or not, is at most as
    distinguishable as the release. *)
Theorem hockey_post_processing :
  forall {X X' : Type} (I : integral X) (I' : integral X') (k : (X' -> R) -> X -> R) (y : R) (p q : X -> R)
    (p' q' : X' -> R),
  (forall f x, (forall x', 0 <= f x' <= 1) -> 0 <= k f x <= 1) ->
  processed I I' k p p' -> processed I I' k q q' -> intg I p -> intg I q -> intg I' p' -> intg I' q' ->
  let phi := fun x' => if Rlt_dec (y * q' x') (p' x') then 1 else 0 in
  intg I' (fun x' => p' x' * phi x') -> intg I' (fun x' => q' x' * phi x') ->
  hockey I' y p' q' <= hockey I y p q.
Proof.
  intros X X' I I' k y p q p' q' Hk Pp Pq Hp Hq Hp' Hq' phi Hpp Hqq.
  assert (B : forall x', 0 <= phi x' <= 1) by (intro x'; unfold phi; destruct (Rlt_dec (y * q' x') (p' x')); lra).
  destruct (Pp phi B Hpp) as (I1 & E1), (Pq phi B Hqq) as (I2 & E2).
  assert (A : int I' (fun x' => p' x' * phi x') - y * int I' (fun x' => q' x' * phi x') = hockey I' y p' q')
    by now apply hockey_attained_by_likelihood_ratio.
  rewrite <- A, E1, E2.
  apply hockey_bounds_every_test; auto.
Qed.

(** Settles: TESTS. A claim (eps, delta) that holds is one that no test refutes, also after any
    post-processing k of the tests (a positive map with k 1 <= 1). *)
Theorem claim_bounds_every_processed_test :
  forall {X X' : Type} (I : integral X) (eps delta : R) (p q : X -> R) (k : (X' -> R) -> X -> R) (phi : X' -> R),
  (forall f x, (forall x', 0 <= f x' <= 1) -> 0 <= k f x <= 1) ->
  (forall x', 0 <= phi x' <= 1) -> intg I p -> intg I q ->
  intg I (fun x => p x * k phi x) -> intg I (fun x => q x * k phi x) ->
  hockey I (exp eps) p q <= delta ->
  int I (fun x => p x * k phi x) <= exp eps * int I (fun x => q x * k phi x) + delta.
Proof.
  intros X X' I eps delta p q k phi Hk Hphi Hp Hq Hpp Hqq H.
  pose proof (hockey_bounds_every_test I (exp eps) p q (k phi) (fun x => Hk phi x Hphi) Hp Hq Hpp Hqq). lra.
Qed.

(** Settles: HOCKEY-STICK. Exchanging the two laws: H_y(p||q) = 1 - y + y H_{1/y}(q||p). *)
Theorem hockey_reversal :
  forall {X : Type} (I : integral X) (y : R) (p q : X -> R),
  0 < y -> intg I p -> intg I q -> int I p = 1 -> int I q = 1 ->
  hockey I y p q = 1 - y + y * hockey I (1 / y) q p.
Proof.
  intros X I y p q Hy Hp Hq Ip Iq. unfold hockey.
  pose proof (intg_hockey I (1 / y) q p Hq Hp) as Hr.
  replace (1 - y) with (1 * int I p + - y * int I q) by (rewrite Ip, Iq; ring).
  rewrite <- (int_lin _ I), <- (int_scal I y), <- int_plus;
    [ | now apply intg_lin | now apply intg_scal | assumption.. ].
  apply int_ext; [ now apply intg_hockey | ]. intro x.
  rewrite pos_opp, <- pos_scale by lra. replace (y * (q x - 1 / y * p x)) with (- (p x - y * q x)) by (field; lra).
  lra.
Qed.

(** Settles: HOCKEY-STICK. As a function of y the divergence is convex. *)
Theorem hockey_convex_in_y :
  forall {X : Type} (I : integral X) (t y y' : R) (p q : X -> R),
  0 <= t <= 1 -> intg I p -> intg I q ->
  hockey I (t * y + (1 - t) * y') p q <= t * hockey I y p q + (1 - t) * hockey I y' p q.
Proof.
  intros X I t y y' p q Ht Hp Hq. unfold hockey.
  rewrite <- (int_lin _ I) by now apply intg_hockey.
  apply int_le; [ now apply intg_hockey | apply intg_lin; now apply intg_hockey | ].
  intro x. rewrite <- !pos_scale by lra. eapply Rle_trans; [ | apply pos_add ]. apply pos_mono; lra.
Qed.

(** Settles: HOCKEY-STICK. It falls as y grows, and 1 - y <= H_y <= 1. *)
Theorem hockey_profile :
  forall {X : Type} (I : integral X) (y y' : R) (p q : X -> R),
  0 <= y <= y' -> (forall x, 0 <= p x) -> (forall x, 0 <= q x) ->
  intg I p -> intg I q -> int I p = 1 -> int I q = 1 ->
  hockey I y' p q <= hockey I y p q /\ 1 - y <= hockey I y p q <= 1.
Proof.
  intros X I y y' p q Hy Pp Pq Hp Hq Ip Iq. unfold hockey. repeat split.
  - apply int_le; try now apply intg_hockey. intro x; apply pos_mono.
    pose proof (Rmult_le_compat_r (q x) y y' (Pq x)); lra.
  - replace (1 - y) with (1 * int I p + - y * int I q) by (rewrite Ip, Iq; ring).
    rewrite <- (int_lin _ I) by assumption. apply int_le; [ now apply intg_lin | now apply intg_hockey | ].
    intro x; pose proof (pos_ge (p x - y * q x)); lra.
  - rewrite <- Ip. apply int_le; [ now apply intg_hockey | assumption | ].
    intro x; pose proof (Rmult_le_pos y (q x)); apply pos_least; [ auto | ]; pose proof (Pq x); lra.
Qed.
