(* Algorithm 1 of [CL20] on a grid with discrete Gaussian noise and batches without replacement: its iterates are functions of
   noisy gradients, whose moments Lemma 2 bounds; hence it is private. *)

From DPADMM Require Import Vectors Algorithm InnerProduct Gradients.
From DPADMM Require Import Integral HockeyStick Profiles Composition Renyi Batches Subsampling Lattice DiscreteGaussian Releases.
From DPADMM Require Import GridNoise Amplified ModelPerturbation.
From Coq Require Import Reals Lra Lia List ZArith Permutation FunctionalExtensionality.
Import ListNotations.
Open Scope R_scope.

(* The expected value of f over a uniform batch of m of the positions 0 .. n-1, without replacement, and over p
   independent discrete Gaussians. *)
Definition batch_and_noise (m n : nat) (s : R) (p : nat) (f : list nat * list Z -> R) : R :=
  batch_mean m (seq 0 n) (fun b => noise_mean s p (fun v => f (b, v))).

Lemma splits_map {A B} (h : A -> B) m l :
  splits m (map h l) = map (fun s => (map h (fst s), map h (snd s))) (splits m l).
Proof.
  revert m; induction l as [ | d l IH ]; intros [ | m ]; try reflexivity.
  cbn [map splits]. rewrite !IH, map_app, !map_map. reflexivity.
Qed.

Lemma picked_nth {A} (d : A) data b : (forall j, In j b -> (j < length data)%nat) ->
  picked data b = map (fun j => nth j data d) b.
Proof.
  induction b as [ | j b IH ]; intro H; [ reflexivity | ]. cbn [picked flat_map map]. fold (picked data b).
  rewrite IH by (intros; apply H; now right). rewrite (nth_error_nth' data d) by (apply H; now left). reflexivity.
Qed.

Lemma in_batch {A} m (l : list A) s j : In s (splits m l) -> In j (fst s) -> In j l.
Proof.
  intros Hs Hj. apply (Permutation_in j (splits_permutation m l s Hs)). apply in_or_app. now left.
Qed.

(* A batch of positions is a batch of records. *)
Lemma batch_of_positions {A} (d : A) m (data : list A) f :
  batch_mean m (seq 0 (length data)) (fun b => f (picked data b)) = batch_mean m data f.
Proof.
  assert (E : data = map (fun i => nth i data d) (seq 0 (length data))).
  { apply (nth_ext _ _ d d); [ now rewrite map_length, seq_length | ]. intros i Hi.
    set (h := fun i => nth i data d).
    rewrite (nth_indep (map h (seq 0 (length data))) d (h O)) by (now rewrite map_length, seq_length).
    now rewrite (map_nth h), seq_nth by exact Hi. }
  transitivity (batch_mean m (map (fun i => nth i data d) (seq 0 (length data))) f); [ | now rewrite <- E ].
  unfold batch_mean, count. rewrite splits_map, map_length, lsum_map. cbn [fst]. f_equal.
  apply lsum_ext. intros s Hs. f_equal. apply picked_nth. intros j Hj.
  apply (in_batch m _ s j Hs) in Hj. apply in_seq in Hj. lia.
Qed.

Lemma lsum_permutation {A} (f : A -> R) l l' : Permutation l l' -> lsum f l = lsum f l'.
Proof. induction 1; simpl; lra. Qed.

Lemma mean_gradient_is_lsum {A} (gradient : A -> vector -> vector) records x i :
  mean_gradient reals gradient records x i = lsum (fun d => gradient d x i) records / INR (length records).
Proof.
  unfold mean_gradient. rewrite mean_real. f_equal. induction records as [ | d records IH ]; [ reflexivity | ].
  cbn [length]. rewrite sum_front. cbn [nth_error lsum]. now rewrite IH.
Qed.

Section SubsampledGradients.
Variables (A : Type) (gradient : A -> vector -> vector) (C : R) (p m : nat) (before after : list A) (r r' : A).
Variables (prox : vector -> R -> vector) (rho : R) (eta : nat -> R) (grid sigma : R) (start : state reals).
Variables (T a : nat) (delta : R) (test : list (state reals) -> R).
Let data (d : A) : list A := before ++ d :: after.
Let n : nat := length (data r).
Hypothesis batch_size : (1 <= m <= n)%nat.
Hypothesis C_nonneg : 0 <= C.
Hypothesis short_gradients : forall d x, norm p (gradient d x) <= C.
Hypothesis grid_positive : 0 < grid.
Hypothesis sigma_positive : 0 < sigma.
Hypothesis order : (2 <= a)%nat.
Hypothesis delta_positive : 0 < delta.
Hypothesis is_test : forall released, 0 <= test released <= 1.

(* The iterates as functions of the noisy gradients. *)
Fixpoint iterate_after (releases : list (list Z)) : state reals :=
  match releases with
  | [] => start
  | v :: earlier =>
      let old := iterate_after earlier in
      let x := step_x reals rho (eta (length earlier)) (seen p 0 grid v) old in
      let z := prox (step_w reals rho x old) rho in
      State reals x z (step_y reals rho x z old)
  end.
Fixpoint iterates_after (releases : list (list Z)) : list (state reals) :=
  match releases with [] => [] | _ :: earlier => iterate_after releases :: iterates_after earlier end.
Let query (past : list (list Z)) (records : list A) (i : nat) : Z :=
  half_even reals (mean_gradient reals gradient records (state_x reals (iterate_after past)) i / grid).
Let out (D : list A) (past : list (list Z)) (input : list nat * list Z) : list Z :=
  moved (query past (picked D (fst input))) (snd input).
Let inputs (drawn : list (list nat * list Z)) := map (fun input => (fst input, integer_noise grid (snd input))) drawn.

Lemma run_subsampled D drawn : Forall (fun input : list nat * list Z => length (snd input) = p) drawn ->
  let step k (input : list nat * (nat -> R)) :=
    iteration reals prox rho p (Some grid) (eta k) (mean_gradient reals gradient (picked D (fst input))) (snd input) in
  last_state reals step start (inputs drawn) = iterate_after (released (out D) drawn) /\
  all_states reals step start (inputs drawn) = iterates_after (released (out D) drawn).
Proof.
  intros H step. induction drawn as [ | [ b v ] drawn IH ]; [ split; reflexivity | ].
  pose proof (Forall_inv H) as Hv. destruct (IH (Forall_inv_tail H)) as (IH1 & IH2). cbn [snd] in Hv.
  assert (E : last_state reals step start (inputs ((b, v) :: drawn)) = iterate_after (released (out D) ((b, v) :: drawn))).
  { unfold inputs in *. cbn [map last_state fst snd]. rewrite IH1, map_length, <- (released_length (out D) drawn).
    set (past := released (out D) drawn). change (released (out D) ((b, v) :: drawn)) with (out D past (b, v) :: past).
    unfold step, iteration. cbn [iterate_after fst snd].
    assert (P : perturbed reals p (Some grid) (mean_gradient reals gradient (picked D b) (state_x reals (iterate_after past)))
      (integer_noise grid v) = seen p 0 grid (out D past (b, v))).
    { apply (perturbed_seen p 0 grid _ v); [ lia | ]. intros i Hi. reflexivity. }
    cbv zeta. rewrite P. reflexivity. }
  split; [ exact E | ]. unfold inputs in *. cbn [map all_states released iterates_after fst snd].
  cbn [map fst snd] in E. rewrite E, IH2. reflexivity.
Qed.

Lemma query_permutation past b b' : Permutation b b' -> query past b = query past b'.
Proof.
  intro P. apply functional_extensionality. intro i. unfold query. rewrite !mean_gradient_is_lsum.
  rewrite (lsum_permutation _ _ _ P), (Permutation_length P). reflexivity.
Qed.

Let moments (j : nat) : R := exp ((INR j - 1) * grid_price j grid sigma p (2 * C / INR m)).
Let price : R := ln (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a)) / (INR a - 1).

Lemma moments_above_1 j : 1 <= moments j.
Proof.
  unfold moments. apply Rle_trans with (exp 0); [ rewrite exp_0; lra | apply exp_le ].
  destruct j as [ | j ]; [ unfold grid_price; simpl; unfold Rdiv; rewrite !Rmult_0_l; lra | ].
  apply Rmult_le_pos; [ rewrite S_INR; pose proof (pos_INR j); lra | ]. unfold grid_price.
  apply Rmult_le_pos; [ apply Rmult_le_pos; [ apply pos_INR | rewrite <- Rsqr_pow2; apply Rle_0_sqr ] | ].
  left. apply Rinv_0_lt_compat. assert (0 < sigma ^ 2) by now apply pow_lt. lra.
Qed.

Lemma bound_positive : 0 < Rmin (lemma2_bound moments a (INR m / INR n)) (moments a).
Proof.
  apply Rmin_glb_lt; [ | pose proof (moments_above_1 a); lra ]. unfold lemma2_bound.
  assert (Hq : 0 <= INR m / INR n) by (apply Rmult_le_pos; [ apply pos_INR | left; apply Rinv_0_lt_compat, lt_0_INR; lia ]).
  assert (0 <= lsum (fun j => Binomial.C a j * (INR m / INR n) ^ j * lemma2_term moments j) (seq 2 (a - 1))); [ | lra ].
  apply lsum_nonneg. intros j _. apply Rmult_le_pos.
  - apply Rmult_le_pos; [ left; apply binomial_coefficient_pos | now apply pow_le ].
  - pose proof (moments_above_1 j). unfold lemma2_term. destruct (j =? 2)%nat; [ apply Rmin_glb | ]; lra.
Qed.

Lemma subsampled_private :
  let total := INR T * price in
  let expected d := over_steps (batch_and_noise m n (sigma / grid) p) T []
    (fun drawn => test (ssadmm reals prox rho p (Some grid) eta gradient (data d) start
      (map (fun input => (fst input, integer_noise grid (snd input))) drawn))) in
  expected r <= exp (printed_epsilon (INR a) total delta) * expected r' + delta /\
  expected r <= exp (improved_epsilon (INR a) total delta) * expected r' + delta.
Proof.
  intros total expected. assert (Hs : 0 < sigma / grid) by now apply Rdiv_lt_0_compat.
  assert (H1 := order_above_1 a order).
  assert (Len : forall d, length (data d) = n) by (intro d; unfold n, data; rewrite !app_length; reflexivity).
  set (mu := fun past records => gauss_law (sigma / grid) (query past records)).
  set (law := fun d past => on_batch m (data d) (mu past)).
  assert (Pmu : forall past b x, 0 < mu past b x) by (intros; now apply gauss_law_pos).
  assert (Dmu : forall past b, density (lattice p) (mu past b)) by (intros; now apply gauss_law_density).
  assert (Perm : forall past b b' x, Permutation b b' -> mu past b x = mu past b' x)
    by (intros; unfold mu; now rewrite (query_permutation past b b')).
  assert (Pl : forall d past x, 0 < law d past x).
  { intros d past x. unfold law, on_batch, batch_mean.
    assert (Hc : 0 < count m (data d)) by (apply count_pos; rewrite Len; apply batch_size).
    apply Rmult_lt_0_compat; [ now apply Rinv_0_lt_compat | ]. unfold count in Hc.
    destruct (splits m (data d)) as [ | s rest ]; [ simpl in Hc; lra | ]. cbn [lsum]. pose proof (Pmu past (fst s) x).
    assert (0 <= lsum (fun s => mu past (fst s) x) rest) by (apply lsum_nonneg; intros; left; apply Pmu). lra. }
  assert (Dl : forall d past, density (lattice p) (law d past)).
  { intros d past. split; [ intro; left; apply Pl | ]. split.
    - apply intg_on_batch. intro b. apply Dmu.
    - apply int_on_batch; [ rewrite Len; apply batch_size | ]. intro b. destruct (Dmu past b) as (_ & ? & ?). now split. }
  assert (Step : forall d past, law d past = on_batch m (d :: before ++ after) (mu past)).
  { intros d past. apply functional_extensionality. intro x. unfold law, on_batch.
    apply batch_mean_permutation; [ symmetry; apply Permutation_middle | ]. intros b b' Hb. now apply Perm. }
  assert (Moments : forall past, intg (lattice p) (fun x => power_term (INR a) (law r past x) (law r' past x)) /\
    moment (lattice p) (INR a) (law r past) (law r' past) <= exp ((INR a - 1) * price)).
  { intro past. rewrite !Step.
    assert (Hm : m = S (m - 1)) by lia. assert (Hn : n = S (length (before ++ after)))
      by (unfold n, data; rewrite !app_length; simpl; lia).
    destruct (lemma2_without_replacement (lattice p) (m - 1) a r r' (before ++ after) (mu past) moments
      (lattice_complete p)) as (L1 & L2); auto using moments_above_1; [ lia | | ].
    - intros d d' B j HB Hj. split; [ now apply gauss_law_moment | ]. unfold mu, query, moments.
      apply grid_moment; auto.
      set (g := fun o : option A => match o with Some d => gradient d (state_x reals (iterate_after past)) | None => fun _ => of_nat reals 0 end).
      assert (Short : forall o, norm p (g o) <= C).
      { intros [ e | ]; [ apply short_gradients | ]. unfold g. rewrite norm_zero; [ exact C_nonneg | reflexivity ]. }
      pose proof (full_gradient_sensitivity (option A) g C p (length (d :: B)) 0 (nth_error (d :: B)) (nth_error (d' :: B))
        C_nonneg Short (lists_are_neighbours [] B d d')) as F.
      replace m with (length (d :: B)) by (simpl; lia). exact F.
    - rewrite <- Hm in L1, L2. rewrite <- Hn in L2. split; [ exact L1 | ].
      replace (exp ((INR a - 1) * price)) with (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a)); [ exact L2 | ].
      unfold price. replace ((INR a - 1) * (ln (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a)) / (INR a - 1)))
        with (ln (Rmin (lemma2_bound moments a (INR m / INR n)) (moments a))) by (field; lra).
      symmetry. apply exp_ln, bound_positive. }
  assert (E : forall d, expected d = ahead (lattice p) (law d) T [] (fun releases => test (iterates_after releases))).
  { intro d. unfold expected.
    rewrite (over_steps_ext _ (fun input : list nat * list Z => length (snd input) = p) T []
      _ (fun drawn => test (iterates_after (released (out (data d)) drawn)))).
    - rewrite (over_steps_ahead (lattice p) (lattice_complete p) (law d) (fun releases => test (iterates_after releases)) (Dl d)
        (fun releases => is_test _)); [ reflexivity | ].
      intros past g Hg. unfold batch_and_noise, out. cbn [fst snd].
      assert (En : (fun b => noise_mean (sigma / grid) p (fun v => g (moved (query past (picked (data d) b)) v)))
        = (fun b => (fun records => int (lattice p) (fun x => mu past records x * g x)) (picked (data d) b)))
        by (apply functional_extensionality; intro b; now apply noise_mean_moved).
      rewrite En, <- (Len d), (batch_of_positions r m (data d) (fun records => int (lattice p) (fun x => mu past records x * g x))).
      unfold law, on_batch, batch_mean.
      assert (Ib : forall b, intg (lattice p) (fun x => mu past b x * g x)) by (intro; now apply bounded_intg).
      rewrite <- (int_sum (lattice p) (fun (s : list A * list A) x => mu past (fst s) x * g x)) by auto.
      rewrite <- (int_scal (lattice p)) by (apply (intg_sum (lattice p) (fun (s : list A * list A) x => mu past (fst s) x * g x)); auto).
      apply lattice_ext. intros x _. rewrite Rmult_assoc. f_equal.
      rewrite (Rmult_comm _ (g x)), <- lsum_scal. apply lsum_ext. intros; ring.
    - intros u w H. unfold batch_and_noise, batch_mean. f_equal. apply lsum_ext. intros s _.
      apply noise_mean_ext. intros v Hv. apply H. exact Hv.
    - constructor.
    - intros drawn Hd. f_equal. now apply run_subsampled. }
  rewrite !E.
  pose proof (releases_are_private (lattice p) T (INR a) delta (law r) (law r') (fun _ => price)
    (fun releases => test (iterates_after releases)) (lattice_complete p) H1 delta_positive (Pl r) (Pl r') (Dl r) (Dl r')
    (fun past => proj1 (Moments past)) (fun past => proj2 (Moments past)) (fun releases => is_test _)) as R.
  cbv zeta in R. rewrite lsum_const, seq_length in R. exact R.
Qed.
End SubsampledGradients.
