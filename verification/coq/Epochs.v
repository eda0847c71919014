(* Batches by epochs: the batches of an epoch are disjoint, so that a record is in one of them at most. Whatever is
   released from the others has the same law under both data sets, given what was released before; so T adaptive
   releases in E epochs cost what E releases cost. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi.
Import ListNotations.
Open Scope R_scope.

(* How many of the first T batches hold the record. *)
Definition visits (holds : nat -> bool) (T : nat) : nat := length (filter holds (seq 0 T)).

(* No two batches of one epoch of B hold it. *)
Definition once_an_epoch (B : nat) (holds : nat -> bool) : Prop :=
  forall i j, holds i = true -> holds j = true -> (i / B = j / B)%nat -> i = j.

(** Settles: EPOCHS. An order that puts the record at place k e in epoch e, cut into B batches of m, holds it once an
    epoch at most. *)
Theorem an_order_holds_a_record_once :
  forall (B m : nat) (place : nat -> nat), (0 < B)%nat ->
  once_an_epoch B (fun k => Nat.eqb (k mod B) (place (k / B)%nat / m)).
Proof.
  intros B m place HB i j Hi Hj E. apply Nat.eqb_eq in Hi, Hj.
  rewrite (Nat.div_mod i B), (Nat.div_mod j B) by lia. rewrite Hi, Hj, E. reflexivity.
Qed.

Lemma visits_split (holds : nat -> bool) (s n : nat) : visits holds (s + n) = (visits holds s + length (filter holds (seq s n)))%nat.
Proof. unfold visits. now rewrite seq_app, filter_app, app_length. Qed.

Lemma at_most_one (holds : nat -> bool) l :
  NoDup l -> (forall i j, In i l -> In j l -> holds i = true -> holds j = true -> i = j) ->
  (length (filter holds l) <= 1)%nat.
Proof.
  intros N H. apply (NoDup_filter holds) in N.
  assert (H' : forall i j, In i (filter holds l) -> In j (filter holds l) -> i = j).
  { intros i j Hi Hj. apply filter_In in Hi, Hj. now apply H. }
  destruct (filter holds l) as [ | a [ | b r ] ]; simpl; [ lia | lia | ].
  exfalso. inversion N as [ | ? ? Hn _ ]. apply Hn. rewrite (H' a b); simpl; auto.
Qed.

(** Settles: EPOCHS. T iterations within E epochs visit the record E times at most. *)
Theorem epochs_visit_once_each :
  forall (B E T : nat) (holds : nat -> bool), (0 < B)%nat -> once_an_epoch B holds -> (T <= E * B)%nat ->
  (visits holds T <= E)%nat.
Proof.
  intros B E T holds HB H. revert T; induction E as [ | E IH ]; intros T HT.
  - replace T with O by lia. reflexivity.
  - destruct (Nat.le_gt_cases T (E * B)) as [ L | L ]; [ specialize (IH T L); lia | ].
    replace T with (E * B + (T - E * B))%nat by lia. rewrite visits_split.
    assert (length (filter holds (seq (E * B) (T - E * B))) <= 1)%nat.
    { apply at_most_one; [ apply seq_NoDup | ]. intros i j Hi Hj Pi Pj. apply H; try assumption.
      apply in_seq in Hi, Hj.
      rewrite <- (Nat.div_unique i B E (i - E * B)), <- (Nat.div_unique j B E (j - E * B)); lia. }
    specialize (IH (E * B)%nat ltac:(lia)). lia.
Qed.

Lemma lsum_visits (holds : nat -> bool) (rho : R) (T : nat) :
  lsum (fun i => if holds i then rho else 0) (seq 0 T) = INR (visits holds T) * rho.
Proof.
  unfold visits. induction (seq 0 T) as [ | i l IH ]; simpl lsum; simpl filter; [ simpl; ring | ].
  rewrite IH. destruct (holds i); simpl length; [ rewrite S_INR; ring | ring ].
Qed.

Lemma moment_same {X} (I : integral X) a (p q : X -> R) :
  (forall x, 0 < p x) -> (forall x, p x = q x) -> intg I p -> int I p = 1 -> moment I a p q = 1.
Proof.
  intros P E G <-. unfold moment. symmetry. apply int_ext; [ exact G | ]. intro x.
  unfold power_term. rewrite <- E, <- Rpower_plus.
  replace (a + (1 - a)) with 1 by ring. now rewrite Rpower_1.
Qed.

(** Settles: EPOCHS. Releases whose batch does not hold the record have one law for both data sets, whatever came before;
    if those that hold it cost rho at order a, T releases in E epochs cost E rho, not T rho. *)
Theorem epochs_cost_one_release_each :
  forall {X : Type} (I : integral X) (B E T : nat) (a rho : R) (holds : nat -> bool) (p q : list X -> X -> R),
  (0 < B)%nat -> once_an_epoch B holds -> (T <= E * B)%nat -> 1 < a -> 0 <= rho ->
  (forall h x, 0 < p h x) -> (forall h x, 0 < q h x) ->
  (forall h, intg I (fun x => power_term a (p h x) (q h x))) ->
  sections I T (fun h => power_term a (joint p h) (joint q h)) ->
  (forall h, intg I (p h) /\ int I (p h) = 1) ->
  (forall h, (length h < T)%nat -> holds (length h) = true -> moment I a (p h) (q h) <= exp ((a - 1) * rho)) ->
  (forall h x, (length h < T)%nat -> holds (length h) = false -> p h x = q h x) ->
  iterated I T [] (fun h => power_term a (joint p h) (joint q h)) <= exp ((a - 1) * (INR E * rho)).
Proof.
  intros X I B E T a rho holds p q HB H HT Ha Hrho Hp Hq Hm Sec D In Out.
  eapply Rle_trans.
  - apply (renyi_adaptive_composition I T a p q (fun i => if holds i then rho else 0)); try assumption.
    intros h Hh. destruct (holds (length h)) eqn:Eh; [ now apply In | ].
    rewrite moment_same; [ rewrite Rmult_0_r, exp_0; apply Rle_refl | apply Hp | | apply D | apply D ].
    intro x. now apply Out.
  - rewrite lsum_visits.
    assert (INR (visits holds T) <= INR E) by (apply le_INR; now apply (epochs_visit_once_each B)).
    assert (INR (visits holds T) * rho <= INR E * rho) by (apply Rmult_le_compat_r; assumption).
    assert (L : (a - 1) * (INR (visits holds T) * rho) <= (a - 1) * (INR E * rho))
      by (apply Rmult_le_compat_l; [ lra | assumption ]).
    destruct L as [ L | -> ]; [ left; now apply exp_increasing | apply Rle_refl ].
Qed.
